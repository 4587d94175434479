"""Time windows for the crash, given by what the program had printed or done.

A word is a line that the program printed, or the number of an event. After a line: it was out. Before a line: it was
not. Of a line that was printed several times the window is the widest one: after its first, before its last.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from powercut.errors import UsageError, suggestion
from powercut.quick_dataclass import dataclass
from powercut.states.timeline import Timeline
from powercut.trace.layout import Channel
from powercut.trace.reader import Trace

_CHANNELS = (Channel.STDOUT, Channel.SOCKET, Channel.STDERR)  # where a line is looked for, one after the other
_SHOWN = 5  # lines that a hint names


@dataclass(frozen=True, slots=True)
class Window:
    """Moments in half steps of the trace; None where nothing bounds them."""

    first: int | None = None
    last: int | None = None


def window(timeline: Timeline, after: str | int | None, before: str | int | None) -> Window:
    """The moments after one thing and before another."""
    first = None if after is None else _first_after(timeline, after)
    last = None if before is None else _last_before(timeline, before)
    if first is not None and last is not None and first > last:
        raise UsageError("empty-window", f"no moment of the run is after {after!r} and before {before!r}.")
    return Window(first, last)


def _first_after(timeline: Timeline, word: str | int) -> int:
    events = _printed_at(timeline, word)
    return 2 * events[0] if events else 2 * _event(timeline, word) + 1


def _last_before(timeline: Timeline, word: str | int) -> int:
    events = _printed_at(timeline, word)
    return 2 * (events[-1] if events else _event(timeline, word)) - 1


def _printed_at(timeline: Timeline, word: str | int) -> list[int]:
    """The events that printed a line, in order."""
    if isinstance(word, int):
        return []
    wanted = word.encode("utf-8", "surrogateescape")
    for channel in _CHANNELS:
        found = [event for line, event in _lines(timeline, channel) if line == wanted]
        if found:
            return found
    return []


def _event(timeline: Timeline, word: str | int) -> int:
    count = len(timeline.trace.events)
    if isinstance(word, int) or (word.isascii() and word.isdecimal()):
        if int(word) < count:
            return int(word)
        raise UsageError("no-such-moment", f"the trace has no event {word}.", f"It has events 0 to {count - 1}.")
    lines = [line.decode("utf-8", "replace") for channel in _CHANNELS for line, _ in _lines(timeline, channel)]
    hint = suggestion(word, lines[:_SHOWN] if len(lines) > _SHOWN else lines, "It printed") if lines else ""
    raise UsageError("no-such-moment", f"the program never printed the line {word!r}.", hint or "It printed nothing.")


def _lines(timeline: Timeline, channel: Channel) -> list[tuple[bytes, int]]:
    """The lines that went to a channel, each with the event that brought its last byte."""
    events = [event for event, where in timeline.outputs if where == channel]
    parts = [said(timeline.trace, event) for event in events]
    ends = list(accumulate(map(len, parts)))
    lines, position = [], 0
    for line in b"".join(parts).split(b"\n"):
        if line:
            lines.append((line.rstrip(b"\r"), events[bisect_right(ends, position + len(line) - 1)]))
        position += len(line) + 1
    return lines


def said(trace: Trace, event: int) -> bytes:
    """What an output event said."""
    record = trace.events[event]
    return trace.blob(int(record["data"]), int(record["length"]))
