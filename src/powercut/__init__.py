"""powercut: find what a power cut would do to your program's data, and the missing sync behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from powercut.api import explore
    from powercut.assertions.check import check_program, check_trace

__all__ = ["check_program", "check_trace", "explore"]


def __getattr__(name: str) -> Any:
    """Load the API when it is first used: `powercut --help` must not wait for numpy."""
    if name == "explore":
        from powercut import api

        return api.explore
    if name in __all__:
        from powercut.assertions import check

        return getattr(check, name)
    raise AttributeError(f"module 'powercut' has no attribute {name!r}")
