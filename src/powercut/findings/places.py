"""Places in the program: from events to source lines and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from powercut.findings.finding import Location, StackFrame
from powercut.findings.processes import Processes
from powercut.states.timeline import Timeline
from powercut.trace.layout import Channel
from powercut.trace.reader import Trace
from powercut.trace.symbols import (
    Frame,
    StackResolver,
    Symbolizer,
    in_c_library,
    is_runtime,
    only_own,
    plain_name,
    user_frame,
)

_SHOWN = 60  # bytes of output
_OUTPUTS = {
    Channel.STDOUT: "the output {}",
    Channel.STDERR: "the output {} on stderr",
    Channel.SOCKET: "the message {} to a socket",
}


class Places:
    """Finds the source lines behind the events of one trace."""

    def __init__(self, trace: Trace, symbols: Symbolizer | None = None) -> None:
        """`symbols` knows what was looked up for other traces of the same programs."""
        self._trace = trace
        self._copy = trace.meta.get("copy", b"").decode("utf-8", "surrogateescape")
        self._resolver = StackResolver.of(trace, symbols)
        self._processes = Processes(trace)

    def prepare(self, stacks: Iterable[int]) -> None:
        """Look many stacks up at once, which is far quicker than one by one."""
        self._resolver.prepare(stacks)

    def frames(self, event: int) -> tuple[Frame, ...]:
        """The call stack of an event, innermost first."""
        return self.frames_of(int(self._trace.events["stack"][event]))

    def frames_of(self, stack: int) -> tuple[Frame, ...]:
        """The frames of a call stack by its number, innermost first."""
        frames = self._resolver.frames(stack) if stack else ()
        return tuple(self._original(frame) for frame in frames) if self._copy else frames

    def _original(self, frame: Frame) -> Frame:
        """A program that ran in a copy at another path is still the user's own."""
        if frame.file is None or not frame.file.startswith(f"{self._copy}/"):
            return frame
        return replace(frame, file=self._trace.folder + frame.file.removeprefix(self._copy))

    def location(self, event: int, role: str, what: str) -> Location:
        """The user's own line behind an event."""
        frames = self.frames(event)
        return self.with_process(place_of(user_frame(frames), frames, role, what), event)

    def with_process(self, place: Location, event: int) -> Location:
        """The place of an event; where no line of it is the program's own, with the command line that ran.

        Of a runtime that tells no lines, or of a tool of shells, the script is the place: what they do inside differs
        from build to build.
        """
        frames = self.frames(event)
        if only_own(frames):
            return place
        place, blamed = replace(place, process=self._processes.command(event)), user_frame(frames)
        if blamed is None or blamed.interpreted or not self._is_of_a_runtime(blamed.module, event):
            return place
        script = self._processes.script(event)
        return replace(place, function=script, file=None, line=None) if script else place

    def _is_of_a_runtime(self, module: str | None, event: int) -> bool:
        """Whether it is the runtime that ran, or one of its libraries."""
        program = PurePath(self._processes.program(event))
        if is_runtime(module):
            return True
        return is_runtime(str(program)) and (module or "").startswith(f"{program.parent.parent}/lib")

    def apart(self, one: int, other: int) -> tuple[Frame, Frame] | None:
        """Where the user's own callers of two events part: a helper that both go through says nothing.

        None if they do not part there: also if one is known only up to a place where the other goes on, as where an
        asynchronous call has lost its callers. What lies outside of the program's own, like a runtime's start, differs
        for reasons of its own.
        """
        mine, theirs = only_own(self.frames(one))[::-1], only_own(self.frames(other))[::-1]
        least = min(len(mine), len(theirs))
        if mine[len(mine) - least :] == theirs[len(theirs) - least :]:
            return None
        for frame, counterpart in zip(mine, theirs, strict=False):
            if frame != counterpart:
                return (frame, counterpart) if frame.line and counterpart.line else None
        return None

    def of_update(self, timeline: Timeline, update: int, role: str) -> Location:
        """The place that issued an update."""
        event = int(timeline.event[update])
        return self.location(event, role, timeline.describe_call(event))

    def of_output(self, timeline: Timeline, event: int) -> Location:
        """The place that printed or sent something, with the last line of it."""
        record = self._trace.events[event]
        channel = Channel(int(record["extra"]))
        data = (
            timeline.acked(2 * event)
            if channel is Channel.STDOUT
            else self._trace.blob(int(record["data"]), int(record["length"]))
        )
        text = data.strip().rpartition(b"\n")[2][-_SHOWN:].decode("utf-8", "replace")
        return self.location(event, "acknowledged", _OUTPUTS[channel].format(repr(text)))


def stack_of(frames: Iterable[Frame]) -> tuple[StackFrame, ...]:
    """A call stack as it is saved."""
    found, inside = [], True
    for frame in frames:
        found.append(StackFrame(frame.function, frame.file, frame.line, frame.module, frame.asked and inside))
        inside = not frame.asked
    return tuple(found)


def place_of(frame: Frame | None, frames: Sequence[Frame], role: str, what: str = "", detail: str = "") -> Location:
    """A frame of a call stack as a location."""
    stack, asked = stack_of(frames), _asked(frames)
    if frame is None:
        return Location(None, None, None, role, what, stack, detail, asked=asked)
    if in_c_library(frame):  # its lines, where they are known, tell the user nothing
        return Location(None, None, plain_name(frame), role, what, stack, detail, asked=asked)
    return Location(frame.file, frame.line, frame.function, role, what, stack, detail, asked=asked)


def _asked(frames: Sequence[Frame]) -> str:
    """The function and line that asked for a call; empty where the thread came to it by itself."""
    frame = next((frame for frame in only_own(frames) if frame.asked), None)
    return f"{frame.function}, {PurePath(frame.file or '').name}:{frame.line}" if frame is not None else ""
