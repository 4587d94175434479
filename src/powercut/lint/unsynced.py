"""State of the pass over file calls: unsynced data and names, and redundant syncs."""

from __future__ import annotations

from dataclasses import field

from powercut.quick_dataclass import dataclass

NEVER = -1  # as a position among the events


@dataclass(slots=True)
class Unsynced:
    """A file or folder, and what of it is not synced.

    Attributes:
        path: its last name.
        written: stack of the last change of its content or size since its last sync; None if there is none.
        data: whether one of these changes was a write.
        span: bytes that all of these changes lie in.
        attributes: whether its mode or an attribute changed since the last fsync.
        named: whether it got a name since the last sync.
        entries: (folders) whether names in it changed since the last sync.
        mapped: stores into it are not in the trace: whether it changed is not known.
        gone: nobody can see it any more.
        synced: position of its last sync.
        said: how often which write was followed by which output, and not synced in between.
    """

    path: bytes = b""
    written: int | None = None
    data: bool = False
    span: tuple[int, int] = (0, 0)
    attributes: bool = False
    named: bool = False
    entries: bool = False
    mapped: bool = False
    gone: bool = False
    synced: int = NEVER
    said: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewName:
    """A name that is not synced yet."""

    stack: int
    obj: int
    path: bytes
    position: int


@dataclass(frozen=True, slots=True)
class IdleSync:
    """A sync of something that had not changed, and the file that was written in the meantime."""

    stack: int
    path: bytes
    position: int
    twin: int | None
    twin_stack: int
