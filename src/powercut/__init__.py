"""powercut: find what a power cut would do to your program's data, and the missing sync behind it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["check_program", "check_trace", "crash_test", "explore", "match"]
_MODULES = {
    "check_program": "powercut.assertions.check",
    "check_trace": "powercut.assertions.check",
    "crash_test": "powercut.pytest_plugin",
    "explore": "powercut.api",
    "match": "powercut.api",
}


def __getattr__(name: str) -> Any:
    """Load the API when it is first used: `powercut --help` must not wait for numpy."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'powercut' has no attribute {name!r}")
