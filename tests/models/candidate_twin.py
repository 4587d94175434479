"""Which loads are candidates, said a second time: byte by byte, from the rules of px86 alone.

Before: the memory events of a run, with its loads. After: for each load, the stores whose bytes it saw although a power
cut could still take them away. Nothing is kept up to date: at each load, all that happened before is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from powercut.trace.layout import LINE, Flag, Flush, Kind

WORD = 8


@dataclass(frozen=True)
class Memory:
    """A memory event."""

    kind: Kind
    tid: int
    inode: int
    offset: int
    length: int
    flags: Flag
    extra: int


@dataclass(frozen=True)
class Expected:
    """A candidate: whose store it saw, and where."""

    inode: int
    offset: int
    length: int
    inter: bool


def _same_line(one: Memory, other: Memory) -> bool:
    return one.inode == other.inode and one.offset // LINE == other.offset // LINE


def _fenced(events: Sequence[Memory], tid: int) -> bool:
    return any(event.kind == Kind.FENCE and event.tid == tid for event in events)


def _persists_by_itself(past: Sequence[Memory], number: int) -> bool:
    """Whether a flush or fence after it guarantees a store (M2, M3, M4)."""
    store, later = past[number], past[number + 1 :]
    if store.flags & Flag.NONTEMPORAL and _fenced(later, store.tid):
        return True
    flushes = [i for i, event in enumerate(later) if event.kind == Kind.FLUSH and _same_line(event, store)]
    return any(later[i].extra == Flush.CLFLUSH or _fenced(later[i + 1 :], later[i].tid) for i in flushes)


def _is_guaranteed(past: Sequence[Memory], number: int) -> bool:
    """The same, or a later store to its line is (M1)."""
    return any(
        event.kind == Kind.STORE and _same_line(event, past[number]) and _persists_by_itself(past, number + i)
        for i, event in enumerate(past[number:])
    )


def _last_store(past: Sequence[Memory], inode: int, byte: int) -> int | None:
    for number in reversed(range(len(past))):
        event = past[number]
        if event.kind == Kind.STORE and event.inode == inode and event.offset <= byte < event.offset + event.length:
            return number
    return None


def expected_candidates(past: Sequence[Memory], load: Memory) -> Iterator[Expected]:
    """The candidates of a load of at most one word, oldest store first."""
    seen: dict[int, list[int]] = {}
    for byte in range(load.offset, load.offset + load.length):
        store = _last_store(past, load.inode, byte)
        if store is not None and not _is_guaranteed(past, store):
            seen.setdefault(store, []).append(byte)
    for store, found in sorted(seen.items()):
        yield Expected(load.inode, min(found), max(found) - min(found) + 1, past[store].tid != load.tid)
