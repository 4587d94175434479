"""The failure-point tree, drawn with characters: who calls whom on the way to a flush, fence or sync."""

from __future__ import annotations

from collections.abc import Iterator

from powercut.findings.places import Places
from powercut.printable import counted, printable
from powercut.states.failure_points import FailurePoint, Node, tree_of
from powercut.trace.symbols import Frame


def draw_tree(places: Places, points: list[FailurePoint]) -> Iterator[str]:
    """One line for each frame; chains of single calls share a line's indentation."""
    counts = {point.event: point.count for point in points}
    root = tree_of((point.event, [_words(frame) for frame in places.frames(point.event)]) for point in points)
    yield f"{counted(root.points, 'unique failure point')}, reached {counted(sum(counts.values()), 'time')}"
    yield from _draw(root, "", counts)


def _draw(node: Node, indent: str, counts: dict[int, int]) -> Iterator[str]:
    calls = list(node.calls.values())
    for number, call in enumerate(calls):
        last = number == len(calls) - 1
        mark = f"  <- event {call.event}, {counted(counts[call.event], 'time')}" if call.event >= 0 else ""
        below = f" ({call.points})" if len(call.calls) > 1 else ""
        yield f"{indent}{'└─ ' if last else '├─ '}{printable(call.frame)}{below}{mark}"
        yield from _draw(call, indent + ("   " if last else "│  "), counts)


def _words(frame: Frame) -> str:
    name = frame.file.rpartition("/")[2] if frame.file else (frame.module or "?").rpartition("/")[2]
    return f"{frame.function} at {name}:{frame.line}" if frame.line else f"{frame.function} in {name}"
