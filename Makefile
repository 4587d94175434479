# make demo: set-up, then powercut on two small programs with real mistakes.
# make test: set-up, then all tests. make test-ray: those that need Ray.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.powercut-installed
RAY_VENV := .venv-ray
RAY_STAMP := $(RAY_VENV)/.powercut-installed
C_FORMAT := $(wildcard native/*.h native/*/*.c native/*/*.h native/*/*/*.c native/*/*/*.h)
NATIVE := $(C_FORMAT) $(wildcard native/*/*/*.S)

.PHONY: setup demo test test-ray lint format bench clean

setup: $(STAMP)

# One place knows which packages are needed and how to get them.
$(STAMP): pyproject.toml CMakeLists.txt $(NATIVE) tools/system-packages.sh
	tools/system-packages.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10"
	command -v cmake >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check cmake ninja
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[dev]"
	touch $(STAMP)

demo: setup
	$(BIN)/python corpus/demo.py

# pip compiles what it installs, but not what it installs editable; with PYTHONDONTWRITEBYTECODE set, each of the
# thousand runs of powercut would then compile all of its modules.
test: setup
	$(BIN)/python -m compileall -q src/powercut
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# Ray is large (its wheel has 70 MB): its tests have an environment of their own, and are skipped by `make test`.
$(RAY_STAMP): $(STAMP)
	test -x $(RAY_VENV)/bin/python || $(PYTHON) -m venv $(RAY_VENV)
	$(RAY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" cmake ninja
	$(RAY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[dev,ray]"
	touch $(RAY_STAMP)

test-ray: $(RAY_STAMP)
	$(RAY_VENV)/bin/python -m pytest tests/integration/test_ray.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(C_FORMAT)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FORMAT)

bench: setup
	$(BIN)/python bench/run.py

clean:
	rm -rf $(VENV) $(RAY_VENV) build dist
