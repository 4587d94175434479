"""A trace as a listing: one line for each event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from powercut.findings.places import Places
from powercut.printable import one_line
from powercut.trace.layout import Channel, Effect, Fence, Flag, Flush, Kind, Order
from powercut.trace.reader import Trace

_SHOWN = 40  # bytes of data shown
_WITH_DATA = (Kind.WRITE, Kind.STORE, Kind.LOAD, Kind.OUTPUT, Kind.SYMLINK, Kind.NOTE, Kind.SETXATTR, Kind.SNAP_SYMLINK)
_AT_RANGES = (
    *(Kind.WRITE, Kind.SNAP_DATA, Kind.FALLOCATE, Kind.SYNC_RANGE),
    *(Kind.MMAP, Kind.MSYNC, Kind.STORE, Kind.UNMAP, Kind.LOAD, Kind.CANDIDATE),
)
_INSTRUCTIONS: dict[Kind, type[Flush | Fence | Order]] = {Kind.FLUSH: Flush, Kind.FENCE: Fence, Kind.ORDER: Order}


def list_trace(trace: Trace) -> Iterator[str]:
    """The events of a trace in words."""
    places = Places(trace)
    for key in ("command", "dir", "tracer", "exit"):
        value = trace.meta.get(key, b"").replace(b"\0", b" ").decode("utf-8", "replace")
        yield f"{key}: {one_line(value)}"
    names: dict[int, str] = {}
    for index, event in enumerate(trace.events):
        if event["kind"] != Kind.MEMORY:  # which only says what thread or file the next ones mean
            yield _line(trace, places, names, index, event)
    if trace.truncated:
        yield "the trace was truncated here"


def _line(trace: Trace, places: Places, names: dict[int, str], index: int, event: Any) -> str:
    kind, inode = int(event["kind"]), int(event["inode"])
    name = Kind(kind).name.lower() if kind in Kind.__members__.values() else f"kind-{kind}"
    words = [f"{index:>7} {int(event['pid']):>7} {name:<12}"]
    paths = [trace.string(int(event[field])).decode("utf-8", "replace") for field in ("path", "path2") if event[field]]
    if inode and paths:
        names[inode] = paths[-1]
    words.append(" -> ".join(paths) if paths else names.get(inode, f"inode {inode}" if inode else ""))
    if kind in _AT_RANGES:
        words.append(f"{int(event['length'])} bytes at {int(event['offset'])}")
    if kind in (Kind.TRUNCATE, Kind.SNAP_FILE):
        words.append(f"to {int(event['length'])} bytes")
    if kind == Kind.FLUSH:
        words.append(f"line at {int(event['offset'])}")
    if kind in _INSTRUCTIONS and event["extra"] in set(_INSTRUCTIONS[Kind(kind)]):
        words.append(_INSTRUCTIONS[Kind(kind)](int(event["extra"])).name.lower())
    if kind in (Kind.CANDIDATE, Kind.EFFECT):
        words.append(f"candidate {int(event['extra'])}")
    if kind == Kind.EFFECT:
        words.append(f"by its {(Effect(int(event['length'])).name or 'nothing').lower().replace('|', ' and ')}")
    if kind == Kind.OUTPUT:
        words.append(Channel(int(event["extra"])).name.lower())
    if kind in _WITH_DATA:
        words.append(repr(trace.blob(int(event["data"]), min(int(event["length"]), _SHOWN)))[1:])
    flags = Flag(int(event["flags"]))
    words.append(((flags & ~Flag.ADDED).name or "").lower())
    words.append("(added by powercut)" if flags & Flag.ADDED else "")
    frame = places.location(index, "", "")
    if frame.file:
        words.append(f"[{frame}]")
    return one_line(" ".join(word for word in words if word))
