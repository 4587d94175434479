"""Syncs that the tracer adds while it records, where the program does not call them.

Before: a trace of the program, and for each sync two of its events: the call whose effect must be durable, and the call
in front of which the sync belongs. After: a plan that the tracer can read (native/ptrace/added_syncs/added.h). Calls
are known by the names of their stacks, which are the same in every run. A sync stands in a line of the program, whoever
calls it and whatever a compiler made of it: all stacks of the trace whose innermost line of the user's own is that line
are meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from powercut.arrays import distinct
from powercut.errors import UsageError
from powercut.findings.finding import AddedSync
from powercut.findings.places import Places
from powercut.trace.layout import Flag, Kind
from powercut.trace.reader import Trace
from powercut.trace.stack_names import stack_name
from powercut.trace.symbols import Frame, in_c_library, own_frames

WHAT = ("file", "data", "directory", "lines")
_MOST_STACKS = 5000  # stacks of one kind of event that are compared line by line


def write_plan(path: Path, trace: Trace, syncs: Iterable[AddedSync]) -> None:
    """Write the plan of some syncs; what a saved run says of them is not trusted."""
    calls = _Calls(trace)
    plan: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}  # what, and where -> of which calls
    for sync in syncs:
        of, at = calls.of_and_at(sync)
        plan.setdefault((sync.what, tuple(at)), {}).update(dict.fromkeys(of))
    lines = [
        line
        for (what, places), changes in plan.items()
        for line in (f"sync {what}", *(f"of {call}" for call in changes), *(f"at {call}" for call in places))
    ]
    path.write_text("".join(f"{line}\n" for line in lines))


class _Calls:
    """The calls of a trace by the names of their stacks."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._places = Places(trace)
        self._stacks: dict[int, list[int]] = {}  # kind -> the stacks of its events

    def of_and_at(self, sync: AddedSync) -> tuple[list[str], list[str]]:
        """The calls that a sync is about, and those in front of which it belongs: none, if right behind the first."""
        if sync.what not in WHAT:
            raise UsageError("broken-run", f"{self._trace.name}: unknown kind of sync {sync.what!r}.")
        of, at = (self._stack_of(event) for event in (sync.of, sync.of if sync.after else sync.at))
        depth = self._depth(of, at)
        places = [] if sync.after else self._like(sync.at, at, depth)
        return self._like(sync.of, of, depth), places

    def _stack_of(self, event: int) -> int:
        if not 0 <= event < len(self._trace.events):
            raise UsageError("broken-run", f"the fix does not fit {self._trace.name}, which has no event {event}.")
        stack = int(self._trace.events["stack"][event])
        if not stack:
            raise UsageError(
                "no-stacks",
                f"{self._trace.name} has no call stack for event {event}, so the call cannot be recognised again.",
                "Run the test again without --no-stacks.",
            )
        return stack

    def _depth(self, of: int, at: int) -> int:
        """How many of the user's frames tell two calls apart: one, if they are on two lines; else as many callers."""
        mine, theirs = (own_frames(self._places.frames_of(stack)) for stack in (of, at))
        differ = (number for number, (one, other) in enumerate(zip(mine, theirs, strict=False), 1) if one != other)
        return next(differ, 1)

    def _like(self, event: int, stack: int, depth: int) -> list[str]:
        """Names and kinds of the calls at the same place."""
        kind = int(self._trace.events["kind"][event])
        others = self._stacks_of(kind)
        self._places.prepare([stack, *others])
        place = self._place(stack, depth)
        alike = dict.fromkeys([stack, *(other for other in others if self._place(other, depth) == place)])
        return list(dict.fromkeys(f"{stack_name(self._trace, number):x} {kind}" for number in alike))

    def _stacks_of(self, kind: int) -> list[int]:
        if kind not in self._stacks:
            found = distinct(self._trace.at("stack", self._trace.of_kind(Kind(kind)))).tolist()
            self._stacks[kind] = [stack for stack in found if stack] if len(found) <= _MOST_STACKS else []
        return self._stacks[kind]

    def _place(self, stack: int, depth: int) -> tuple[object, ...]:
        """Where a sync would be written: the user's own line, and so many of its callers; else the whole stack."""
        frames = self._places.frames_of(stack)
        own = own_frames(frames)
        named = bool(own) and own[0].line is not None and not in_c_library(own[0])
        return tuple(map(_line_of, own[:depth] if named else frames))


def _line_of(frame: Frame) -> object:
    return (frame.file, frame.line, frame.function) if frame.line else (frame.module, frame.function, frame.address)


def put_in(trace: Trace) -> int:
    """How many syncs of a trace the tracer put in; the flushes before one fence are one."""
    return int((trace.written["flags"] & Flag.ADDED != 0).sum())
