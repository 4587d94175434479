"""Memory models as data: what a power cut leaves of the stores a program makes into mapped files.

Like the rows of `filesystem.py`: a row answers questions, `states/memory_rules.py` turns the answers into order and
guarantees. `auto` is no model of its own: each mapped file gets px86 or page-cache, from what the program does.
"""

from __future__ import annotations

from powercut.errors import UsageError, suggestion
from powercut.quick_dataclass import dataclass
from powercut.trace.layout import LINE

__all__ = ["AUTO", "EADR", "LINE", "MEMORIES", "PAGE_CACHE", "PX86", "Memory", "memory"]


@dataclass(frozen=True, slots=True)
class Memory:
    """What one kind of memory promises.

    Attributes:
        name: as given to --memory.
        persistent: stores reach the medium by cache lines, flushes and fences count; otherwise stores wait in the page
            cache like any write, and msync and fsync count.
        cache_survives: what a store changed is safe as soon as other processors could see it (eADR); only
            non-temporal stores still wait for a fence.
    """

    name: str
    persistent: bool
    cache_survives: bool = False


AUTO = Memory("auto", persistent=False)
PX86 = Memory("px86", persistent=True)
EADR = Memory("eadr", persistent=True, cache_survives=True)
PAGE_CACHE = Memory("page-cache", persistent=False)
MEMORIES: dict[str, Memory] = {row.name: row for row in (AUTO, PX86, EADR, PAGE_CACHE)}


def memory(name: str) -> Memory:
    """The row for a --memory value."""
    if name not in MEMORIES:
        raise UsageError("unknown-memory", f"unknown memory model {name!r}.", suggestion(name, MEMORIES))
    return MEMORIES[name]
