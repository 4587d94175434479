"""The pytest plugin: crash tests in a test suite.

Every suite of an environment with powercut in it loads this module, so it imports nothing but pytest; what does the
work (`pytest_plugin/crash_tests.py`) is loaded by the first crash test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from powercut.pytest_plugin.crash_tests import CrashTest

FIXTURE = MARKER = "crash_test"
SETTINGS = "powercut"  # the marker that gives settings

# Settings that suites change from run to run: an option, and a key of pytest's own configuration, for each.
OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "fs": (str, "File-system models for crash tests, separated by commas, or all."),
    "memory": (str, "Model of mapped memory for crash tests: px86, eadr, page-cache or auto."),
    "budget": (str, "How long each crash test searches: 30s, 5m."),
    "max_states": (int, "Each crash test tests at most this many states."),
    "seed": (int, "Seed of the random part of crash tests."),
    "timeout": (float, "Seconds after which a check of a crash test counts as hung."),
}


def crash_test(check: str | Callable[..., object] | None = None, **settings: Any) -> pytest.MarkDecorator:
    """Make a test a crash test: powercut records its body once and runs `check` on every crash state.

    With `command`, an argument list, the body only prepares the data folder, and powercut records the command. The data
    folder is `dir`, by default the test's `tmp_path`. Other keywords are settings, as for `powercut.explore`.
    """
    marker: pytest.MarkDecorator = getattr(pytest.mark, MARKER)
    return marker.with_args(check, **settings)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options, and keys of pytest.ini or [tool.pytest.ini_options]."""
    group = parser.getgroup("powercut", "crash tests (powercut)")
    for name, (kind, what) in OPTIONS.items():
        group.addoption(f"--powercut-{name.replace('_', '-')}", type=kind, default=None, metavar="VALUE", help=what)
        parser.addini(f"powercut_{name}", what, default=None)
    group.addoption(
        "--powercut-replay", metavar="RUN/ID", help="Run the check of the chosen crash test only on this finding."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Markers."""
    config.addinivalue_line(
        "markers", f"{SETTINGS}(**settings): settings of powercut for crash tests, such as fs='xfs'"
    )
    config.addinivalue_line("markers", f"{MARKER}(check, **settings): a crash test; write @powercut.crash_test(...)")


def pytest_itemcollected(item: pytest.Item) -> None:
    """A decorated test needs the fixture, whether it asks for it or not."""
    if item.get_closest_marker(MARKER) is not None and isinstance(item, pytest.Function):
        item.fixturenames.append(FIXTURE)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Record the body of a decorated test instead of just calling it."""
    marker = pyfuncitem.get_closest_marker(MARKER)
    if marker is None:
        return None
    given: dict[str, Any] = pyfuncitem.funcargs
    arguments = {name: given[name] for name in inspect.signature(pyfuncitem.obj).parameters if name in given}
    settings = dict(marker.kwargs)
    command = settings.pop("command", None)
    if command is not None:
        pyfuncitem.obj(**arguments)
    given[FIXTURE](command or (lambda: pyfuncitem.obj(**arguments)), *marker.args, **settings)
    return True


@pytest.fixture
def crash_test_folder(tmp_path: Path) -> Path:
    """The default data folder of crash tests; override this fixture to use another one."""
    return tmp_path


@pytest.fixture(name=FIXTURE)
def _crash_test(request: pytest.FixtureRequest, crash_test_folder: Path) -> CrashTest:
    """A function that crash-tests a program with a check, and fails the test if there are findings."""
    from powercut.pytest_plugin.crash_tests import CrashTest

    return CrashTest(request.config, request.node, crash_test_folder)
