"""Which line of a call stack a finding names, and what tells it from others below the same line.

Before: events with their call stacks. After: for each event the user's own line to blame. That is the innermost one,
unless it stands in a helper that only passes on what it is given: a function with a single line that changes anything,
called from several places for different things; or a line that is right for some who call it. Such a helper says
nothing; its callers decide, so they are named.

Whether two calls on the same line are the same mistake shows below it: in functions of libraries that it calls, and, if
there are any or no line is known, in what is changed (`targets`). All of this follows from the trace alone: it is
the same whatever was found before, and however much time there was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import PurePath

import numpy as np

from powercut.findings.finding import Location
from powercut.findings.places import Places, place_of
from powercut.findings.sources import sources
from powercut.findings.targets import Target, target_of
from powercut.states.state import NEVER
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind
from powercut.trace.symbols import Frame, in_language_library, is_own, library_frames, only_own, plain_name, user_frame

_Key = tuple[str | None, str, int | None, int | None]  # file, function, line, column
_MOST_STACKS = 20_000  # so many are looked at to tell helpers


class Culprits:
    """Finds the lines to blame for the events of one trace."""

    def __init__(self, places: Places, timeline: Timeline) -> None:
        self._places = places
        self._timeline = timeline

    def of_call(
        self, event: int, role: str, what: str = "", partner: int | None = None, *, synced: bool = False
    ) -> Location:
        """The line behind a call that changed something; `partner` is the other call that takes part, or an output.

        Where both were made by one call of a helper, the helper is to blame whoever called it. If a sync is missed
        (`synced`), a helper that is right for others is not.
        """
        frames = self._places.frames(event)
        target = target_of(self._timeline, self._timeline.updates_of(event)[0])
        rights = self._are_right_for_some(frames, target.changed) if synced else []
        frame = only_own(frames)[rights.index(False)] if rights[:1] == [True] and False in rights else None
        if frame is None and (partner is None or not self._in_one_call(event, partner)):
            frame = self._caller_who_decides(frames)
        innermost = user_frame(frames)
        frame = frame or innermost
        # Where every caller is right for something, what is changed decides.
        below = library_frames(frames)
        if partner is not None:
            below = _up_to_common_call(below, library_frames(self._places.frames(partner)))
        always = (bool(rights) and all(rights)) or self._has_equal_lines(frame, target)
        told = f"{_told_below(below, frame, target, always=always)}{self._which(frame)}{self._folder_of(frame)}"
        what = what or self._timeline.describe_call(event)
        location = self._places.with_process(place_of(frame, frames, role, what, told), event)
        if innermost is None or innermost == frame:
            return location
        return replace(location, inside=_inside(innermost))

    def of_output(self, event: int) -> Location:
        """The line that told the outside."""
        return self._places.of_output(self._timeline, event)

    def part(self, locations: list[Location], lost: int | None, survived: int) -> None:
        """Two places on one line are named by callers that differ, or told apart by the lines of the library below."""
        first, last = locations[0], locations[-1]
        if lost is None or len(locations) != 2 or (first.file, first.line) != (last.file, last.line):
            return
        if (frames := self._places.apart(lost, survived)) is not None:
            for position, (frame, event) in enumerate(zip(frames, (lost, survived), strict=True)):
                known = locations[position]
                locations[position] = place_of(frame, self._places.frames(event), known.role, known.what, known.detail)
        elif (frames := self._apart_in_python(lost, survived) or self._apart_in_libraries(lost, survived)) is not None:
            for position, frame in enumerate(frames):
                locations[position] = replace(locations[position], inside=_inside(frame))

    def _apart_in_python(self, lost: int, survived: int) -> tuple[Frame, Frame] | None:
        """The innermost lines of Python in two call stacks, where they differ."""
        python = [
            [frame for frame in self._places.frames(event) if frame.python and frame.line] for event in (lost, survived)
        ]
        if not all(python) or python[0][0] == python[1][0]:
            return None
        return python[0][0], python[1][0]

    def _apart_in_libraries(self, lost: int, survived: int) -> tuple[Frame, Frame] | None:
        """The lines of libraries at which two call stacks part: where one line of the user's leads to both calls."""
        lines = [
            [frame for frame in library_frames(self._places.frames(event)) if frame.line and not frame.python]
            for event in (lost, survived)
        ]
        pairs = zip(lines[0][::-1], lines[1][::-1], strict=False)
        return next((pair for pair in pairs if pair[0] != pair[1]), None)

    def _in_one_call(self, one: int, other: int) -> bool:
        mine, theirs = (only_own(self._places.frames(event)) for event in (one, other))
        return bool(mine and theirs) and mine[0].function == theirs[0].function and mine[1:] == theirs[1:]

    def _which(self, frame: Frame | None) -> str:
        """Of several calls on one line that change something, which one it is: the first, the second, ..."""
        columns = self._columns[_key(frame)[:3]] if frame is not None else []
        return f"#{columns.index(frame.column)}" if frame is not None and frame.column in columns[1:] else ""

    def _folder_of(self, frame: Frame | None) -> str:
        """The folder of a file, as far as it tells it from others of the same name."""
        if frame is None or frame.file is None:
            return ""
        same = self._namesakes[PurePath(frame.file).name] - {frame.file}
        mine = PurePath(frame.file).parent.parts
        others = [PurePath(file).parent.parts for file in same]
        depth = 1
        while depth < len(mine) and any(other[-depth:] == mine[-depth:] for other in others):
            depth += 1
        return f"@{'/'.join(mine[-depth:])}" if same else ""

    def _has_equal_lines(self, frame: Frame | None, target: Target) -> bool:
        """Whether its function has the same line again, and only what is changed tells the two apart.

        Then their numbers would not do: that of one changes when the other is mended.
        """
        if frame is None or frame.file is None or not frame.line:
            return False
        text = self._text(frame.file, frame.line)
        targets = self._targets_of_line[frame.file, frame.function]
        others = [some for line, some in targets.items() if line != frame.line and self._text(frame.file, line) == text]
        return bool(text and others) and all(target not in some for some in others)

    @staticmethod
    def _text(file: str, line: int) -> str:
        lines = sources().lines(file)
        return " ".join(lines[line - 1].split()) if 0 < line <= len(lines) else ""

    @cached_property
    def _namesakes(self) -> dict[str, set[str]]:
        """The files of own frames by their names."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for own, _ in self._calls:
            for frame in own:
                if frame.file is not None:
                    found[PurePath(frame.file).name].add(frame.file)
        return found

    @cached_property
    def _targets_of_line(self) -> dict[tuple[str, str], dict[int, set[Target]]]:
        """For each function the lines that change something, and what they change."""
        found: defaultdict[tuple[str, str], defaultdict[int, set[Target]]] = defaultdict(lambda: defaultdict(set))
        for own, target in self._calls:
            for frame in own:
                if frame.file is not None and frame.line:
                    found[frame.file, frame.function][frame.line].add(target)
        return found  # type: ignore[return-value]

    def _caller_who_decides(self, frames: Sequence[Frame]) -> Frame | None:
        """The innermost own frame that is not a mere helper."""
        own = only_own(frames)
        level = 0
        while level + 1 < len(own) and self._is_helper(tuple(map(_key, own[: level + 1]))):
            level += 1
        return own[level] if own else None

    def _are_right_for_some(self, frames: Sequence[Frame], changed: str) -> list[bool]:
        """For each own frame, whether it and those inside it change names, or content, elsewhere and are right.

        That is what is synced before the program says anything or changes any name. A line that is right for some who
        call it is not to blame: the innermost caller is for whom it never is.
        """
        return [(inner, changed) in self._right for inner in _inner(frames)]

    def _is_helper(self, inner: tuple[_Key, ...]) -> bool:
        """Whether what the innermost frames change is decided by their caller."""
        if len(self._lines_of[inner[-1][:2]]) > 1:
            return False
        callers = self._targets_by_caller[inner]
        everything = set().union(*callers.values())
        return len(callers) > 1 and all(len(some) < len(everything) for some in callers.values())

    @cached_property
    def _right(self) -> set[tuple[tuple[_Key, ...], str]]:
        """The rows of innermost own frames through which names, or content, were changed and synced at once."""
        timeline = self._timeline
        kinds = np.frombuffer(timeline.updates.kind, np.int8)
        said = np.fromiter((index for index, _ in timeline.outputs), np.int64)
        named = timeline.event[kinds == UpdateKind.ENTRY].astype(np.int64)
        telling = np.append(np.union1d(said, named), NEVER // 2)
        after = telling[np.searchsorted(telling, timeline.event, side="right")]
        synced = (timeline.guaranteed < 2 * after) & (timeline.guaranteed != NEVER)
        stacks = timeline.trace.events["stack"][timeline.event]
        _, firsts = np.unique(np.stack([stacks[synced], kinds[synced]]), axis=1, return_index=True)
        some = np.flatnonzero(synced)[firsts[:_MOST_STACKS]].tolist()
        self._places.prepare({int(stacks[update]) for update in some} - {0})
        found: set[tuple[tuple[_Key, ...], str]] = set()
        for update in some:
            changed = target_of(timeline, update).changed
            found.update((inner, changed) for inner in _inner(self._places.frames_of(int(stacks[update]))))
        return found

    @cached_property
    def _calls(self) -> list[tuple[tuple[Frame, ...], Target]]:
        """For calls that change something, each of them once: the own frames, and what is changed."""
        timeline = self._timeline
        stacks = timeline.trace.events["stack"][timeline.event]
        target = (
            np.frombuffer(timeline.updates.start, np.int64) if timeline.in_lines else np.zeros(len(stacks), np.int64)
        )
        obj = np.frombuffer(timeline.updates.obj, np.int32)
        distinct = np.unique(
            np.stack([stacks.astype(np.int64), obj.astype(np.int64), target]), axis=1, return_index=True
        )
        firsts = distinct[1][:_MOST_STACKS].tolist()
        self._places.prepare({int(stacks[update]) for update in firsts} - {0})
        found = []
        for update in firsts:
            own = only_own(self._places.frames_of(int(stacks[update])))
            found.append((tuple(own), target_of(timeline, update)))
        return found

    @cached_property
    def _columns(self) -> dict[tuple[str | None, str, int | None], list[int]]:
        """Where on each line calls are that change something, themselves or through what they call."""
        found: defaultdict[tuple[str | None, str, int | None], set[int]] = defaultdict(set)
        for own, _ in self._calls:
            for frame in own:
                if frame.column is not None:
                    found[_key(frame)[:3]].add(frame.column)
        return defaultdict(list, {key: sorted(some) for key, some in found.items()})

    @cached_property
    def _lines_of(self) -> dict[tuple[str | None, str], set[int | None]]:
        """The lines of each function that change something, themselves or through what they call."""
        found: defaultdict[tuple[str | None, str], set[int | None]] = defaultdict(set)
        for own, _ in self._calls:
            for frame in own:
                found[frame.file, frame.function].add(frame.line)
        return found

    @cached_property
    def _targets_by_caller(self) -> dict[tuple[_Key, ...], dict[_Key | None, set[Target]]]:
        """For each row of innermost own frames what is changed through them, by the frame that calls them."""
        found: defaultdict[tuple[_Key, ...], defaultdict[_Key | None, set[Target]]] = defaultdict(
            lambda: defaultdict(set)
        )
        for frames, target in self._calls:
            own = tuple(map(_key, frames))
            for level in range(len(own)):
                caller = own[level + 1] if level + 1 < len(own) else None
                found[own[: level + 1]][caller].add(target)
        return found  # type: ignore[return-value]


def _inner(frames: Sequence[Frame]) -> list[tuple[_Key, ...]]:
    """For each own frame, that and all inside it."""
    keys, own = tuple(map(_key, frames)), set(map(id, only_own(frames)))
    return [keys[: number + 1] for number, frame in enumerate(frames) if id(frame) in own]


def _key(frame: Frame) -> _Key:
    return frame.file, frame.function, frame.line, frame.column


def _inside(frame: Frame) -> str:
    place = place_of(frame, (), "")
    return f"{plain_name(frame)}, {place.short}" if place.line else place.short


def _up_to_common_call(mine: list[Frame], theirs: list[Frame]) -> list[Frame]:
    """The frames of a library up to the call in which both of two calls were made: who called that does not matter."""
    least, shared = min(len(mine), len(theirs)), 0  # frames that are the same, from the outermost on
    while shared < least and mine[-1 - shared] == theirs[-1 - shared]:
        shared += 1
    in_one_call = shared < least and mine[-1 - shared].function == theirs[-1 - shared].function
    return mine[: len(mine) - shared] if in_one_call else mine


def _told_below(libraries: Sequence[Frame], frame: Frame | None, target: Target, *, always: bool) -> str:
    """What tells two calls on one line apart: the libraries below it, and what they change, or `always` the latter.

    What comes with the language does what it is told: there, as in the C library, the same call is the same mistake
    whatever file it changes.
    """
    below = [_word(inner) for inner in libraries if not in_language_library(inner)]
    if not always and not below and frame is not None and is_own(frame):
        return "+".join([*dict.fromkeys(map(_word, libraries)), target.changed])
    return " ".join([*dict.fromkeys(below), str(target)])


def _word(frame: Frame) -> str:
    name = PurePath(frame.file).name if frame.python and frame.file else ""
    return f"{name}:{frame.function}"
