"""powercut: find what a power cut would do to your program's data, and the missing sync behind it."""

from __future__ import annotations

import sys

if sys.argv[:1] == ["-m"] and "powercut" in sys.orig_argv:  # `python -m powercut`, which is being loaded
    import _signal  # the module without its names, which is there at once

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # Ctrl-C just ends it: nothing was begun by now

TYPE_CHECKING = False  # typing takes longer to load than all the rest
if TYPE_CHECKING:
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
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'powercut' has no attribute {name!r}")
