# make demo: set-up, then powercut on two small programs with real mistakes.
# make test: set-up, then all tests. make test-ray: those that need Ray. make dist: sdist and wheel, into dist/.
# make test-kernel: the models against the file systems of this machine's kernel (root); ARGS="--help" says more.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.powercut-installed
DOCS_STAMP := $(VENV)/.powercut-docs-installed
RAY_VENV := .venv-ray
RAY_STAMP := $(RAY_VENV)/.powercut-installed
BROWSER_STAMP := $(VENV)/.powercut-browser
COMPILERS_STAMP := $(VENV)/.powercut-compilers
DIST_STAMP := $(VENV)/.powercut-dist
INSTALL := -m pip install --quiet --disable-pip-version-check
C_FORMAT := $(shell find native -name '*.[ch]')
NATIVE := $(C_FORMAT) $(shell find native -name '*.S') native/start/powercut-python

.PHONY: setup demo test test-ray test-kernel lint format bench bench-quick survey dist site clean

setup: $(STAMP)

# One place knows which packages are needed and how to get them.
$(STAMP): pyproject.toml CMakeLists.txt $(NATIVE) tools/system-packages.sh
	tools/system-packages.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) "scikit-build-core>=0.11"
	command -v cmake >/dev/null || $(BIN)/python $(INSTALL) cmake ninja
	$(BIN)/python $(INSTALL) --no-build-isolation --editable ".[dev]"
	touch $(STAMP)

demo: setup
	$(BIN)/python corpus/demo.py

# pip compiles what it installs, but not what it installs editable; with PYTHONDONTWRITEBYTECODE set, each of the
# thousand runs of powercut would then compile all of its modules.
test: setup $(BROWSER_STAMP) $(COMPILERS_STAMP)
	$(BIN)/python -m compileall -q src/powercut
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# A browser for the tests of the HTML report. Where it is missing it takes 25 s, 113 MB to load and 414 MB of disk: so
# only the tests ask for it, and they go on without it.
$(BROWSER_STAMP): pyproject.toml tools/system-packages.sh | $(STAMP)
	tools/system-packages.sh browser
	-$(BIN)/python $(INSTALL) --no-build-isolation --editable ".[dev,browser]"
	touch $(BROWSER_STAMP)

# A second compiler and a debugger, for the tests that compare lines with what it says; they go on without.
$(COMPILERS_STAMP): tools/system-packages.sh | $(STAMP)
	tools/system-packages.sh compilers
	touch $(COMPILERS_STAMP)

# Ray is large (its wheel has 70 MB): its tests have an environment of their own, and are skipped by `make test`.
$(RAY_STAMP): $(STAMP)
	test -x $(RAY_VENV)/bin/python || $(PYTHON) -m venv $(RAY_VENV)
	$(RAY_VENV)/bin/python $(INSTALL) "scikit-build-core>=0.11" cmake ninja
	$(RAY_VENV)/bin/python $(INSTALL) --no-build-isolation --editable ".[dev,ray]"
	touch $(RAY_STAMP)

test-ray: $(RAY_STAMP)
	$(RAY_VENV)/bin/python -m pytest tests/integration/test_ray.py

# Real file systems on loop devices, in a namespace of their own: nothing is left behind. Without root it says so.
test-kernel: setup
	-tools/system-packages.sh kernel
	$(BIN)/python -m tests.kernel $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/clang-format --dry-run --Werror $(C_FORMAT)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FORMAT)

# The documentation, with the reference made from the code; links and anchors that lead nowhere end it.
site: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "The site is in build/site. To read it, open http://localhost:8000 after:"
	@echo "  $(PYTHON) -m http.server --directory build/site"

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python $(INSTALL) --no-build-isolation --editable ".[dev,docs]"
	touch $(DOCS_STAMP)

# The speed that must not be lost, against bench/expected.json: under two minutes.
bench-quick: setup
	$(BIN)/python bench/quick.py $(ARGS)

bench: setup
	$(BIN)/python bench/run.py

# The sdist, the wheel that is built from it, and its tag: that of the oldest C library with which it works.
$(DIST_STAMP): pyproject.toml | $(STAMP)
	$(BIN)/python $(INSTALL) --no-build-isolation --editable ".[dev,dist]"
	touch $(DIST_STAMP)

# Real programs, and what powercut is expected to find in them; writes docs/survey.md. ARGS="--help" says more.
survey: setup
	$(BIN)/python -m survey.run --install $(ARGS)

dist: $(STAMP) $(DIST_STAMP)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	PATH="$(abspath $(BIN)):$$PATH" auditwheel repair --wheel-dir dist dist/*-linux_x86_64.whl
	rm dist/*-linux_x86_64.whl

clean:
	rm -rf $(VENV) $(RAY_VENV) build dist
