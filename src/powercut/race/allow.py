"""The allow-list: places whose data may be inconsistent after a crash, because something else protects it.

Redo-logged, checksummed or lazily repaired data is read and written before it is durable on purpose, and a recovery
that checks before it uses does not overwrite it. Such places are named, with a reason, in `powercut.toml`:

    [race.allow]
    "log.c:append" = "checksummed; the reader drops what does not match"

A place is FILE:FUNCTION or FUNCTION; both may hold * and ?. FILE is the name of a source file or of a library. An entry
holds if a frame of the store, of the load or of the effect is there. What PMDK does inside itself is allowed as long as
load or effect are in it: its recovery undoes or finishes its own logs. What it finishes stays, though: an allocation
outside of a transaction is an effect like any other if what the program asked for depends on a load of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import PurePath

from powercut.quick_dataclass import dataclass
from powercut.trace.symbols import Frame

Stack = Iterable[Frame]
_LIBRARY = "libpmemobj.so*"
_ALLOCATES = ("alloc", "xalloc", "zalloc", "realloc", "zrealloc", "free", "strdup", "wcsdup", "list_insert_new")
BUILTIN = {f"{_LIBRARY}:*": "PMDK's recovery undoes or completes logged allocations and transactions"}


@dataclass(slots=True)
class AllowList:
    """What is allowed, and how often that was the case."""

    entries: Mapping[str, str]
    times: Counter[str] = field(default_factory=Counter)

    def covers(self, store: Stack, *uses: Stack) -> bool:
        """Whether an entry holds for what was stored, read and made; if so, that is counted."""
        load, *effects = map(tuple, uses)
        inside = [frame for stack in (load, *effects) if stack is load or not _allocates(stack) for frame in stack]
        found = _first(BUILTIN, inside)
        found = found or _first(self.entries, [frame for stack in (store, *uses) for frame in stack])
        if found is not None:
            self.times[found] += 1
        return found is not None

    def told(self) -> list[tuple[str, str, int]]:
        """Entries that held, with their reasons, and how often."""
        reasons = {**BUILTIN, **self.entries}
        return [(place, reasons[place], times) for place, times in self.times.most_common()]


def _first(places: Iterable[str], frames: list[Frame]) -> str | None:
    return next((place for place in places if any(_is_in(frame, place) for frame in frames)), None)


def _allocates(effect: Stack) -> bool:
    """Whether the program called a function of PMDK that allocates or frees at once, outside of a transaction."""
    inside = [frame for frame in effect if _is_in(frame, f"{_LIBRARY}:*")]
    return bool(inside) and _bare(inside[-1].function) in (f"pmemobj_{name}" for name in _ALLOCATES)


def _is_in(frame: Frame, place: str) -> bool:
    file, _, function = place.rpartition(":")
    names = [PurePath(name).name for name in (frame.file, frame.module) if name]
    return fnmatchcase(_bare(frame.function), function) and (not file or any(fnmatchcase(n, file) for n in names))


def _bare(function: str) -> str:
    """A function's name without its parameters, as C++ has them."""
    return function.partition("(")[0]
