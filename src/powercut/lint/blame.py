"""Which line of the user's code a call stack is blamed on.

A store or a write is the innermost line of the user's own. Flushes, fences and syncs stand mostly in helpers
(`persist`, `sync_file`) that many callers share, and to blame the helper would mix them all up. So for these the frames
of functions that never take part in a change are passed over: the helper only persists, its caller is who stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from powercut.findings.finding import Location
from powercut.findings.places import Places, place_of
from powercut.trace.symbols import Frame, own_frames, user_frame

_PERSISTING = frozenset({"flushed", "flushed before", "fenced", "fenced before", "synced"})
_Function = tuple[str, str | None]


class Blame:
    """Finds the line for each call stack of one trace."""

    def __init__(self, places: Places, changing: Iterable[int]) -> None:
        """Take in which stacks store or change files."""
        self._places = places
        self._working = set(self._functions(changing))

    def location(self, stack: int, role: str) -> Location:
        """The line that a stack is blamed on, for something it did in a role."""
        frames = self._places.frames_of(stack)
        return place_of(self._frame(frames, role), frames, role)

    def way(self, stack: int) -> tuple[Frame, ...]:
        """The frames from a flush, fence or sync to the line that it is blamed on, innermost first."""
        frames = self._places.frames_of(stack)
        blamed = self._frame(frames, "synced")
        return frames[: frames.index(blamed) + 1] if blamed is not None else frames

    def _frame(self, frames: Sequence[Frame], role: str) -> Frame | None:
        own = own_frames(frames)
        if role in _PERSISTING:
            working = (number for number, frame in enumerate(own) if _function(frame) in self._working)
            own = own[next(working, 0) :]
        return user_frame(own)

    def _functions(self, stacks: Iterable[int]) -> Iterator[_Function]:
        stacks = list(stacks)
        self._places.prepare(stacks)
        for stack in stacks:
            yield from map(_function, own_frames(self._places.frames_of(stack)))


def _function(frame: Frame) -> _Function:
    return frame.function, frame.module
