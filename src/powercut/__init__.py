"""powercut: find what a power cut would do to your program's data, and the missing sync behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from powercut.api import explore

__all__ = ["explore"]


def __getattr__(name: str) -> Any:
    """Load the API when it is first used: `powercut --help` must not wait for numpy."""
    if name in __all__:
        from powercut import api

        return getattr(api, name)
    raise AttributeError(f"module 'powercut' has no attribute {name!r}")
