"""Whether a folder is a crash state of a recorded run: `powercut match` and `powercut.match` use this.

Before: a trace and an image, by any of their forms. After: an answer for each row. What the trace does not hold is
never held against the image: where a trace was cut, or a program stored to a file that nobody watched, an image that no
state explains is undecided, not impossible.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from powercut.errors import UsageError
from powercut.findings.places import Places
from powercut.image.ignored import leaves_out
from powercut.matching.matcher import Matcher
from powercut.matching.observed import ObservedImage, join
from powercut.matching.read_folder import read_folder
from powercut.matching.result import Describing, MatchResult, RowAnswer
from powercut.matching.window import Window, window
from powercut.model.filesystem import FileSystem, file_systems
from powercut.model.memory import AUTO
from powercut.states.timeline import Timeline
from powercut.states.tree import ROOT
from powercut.trace.layout import KIND, Kind
from powercut.trace.reader import Trace

_CUT = "the trace is truncated; what the program did later may explain the image"
_GIVEN_UP = "the search gave up; narrow the time window with --after and --before"


def match(
    trace: str | Path | Trace,
    image: str | Path | ObservedImage,
    fs: str = "all",
    *,
    after: str | int | None = None,
    before: str | int | None = None,
    memory: str = AUTO.name,
) -> MatchResult:
    """Tell whether a power cut during a recorded run could have left a folder.

    Args:
        trace: the file of a trace, or an opened one.
        image: the data folder as the power cut left it, or an `ObservedImage` made in a test.
        fs: file-system models, separated by commas, or all.
        after: a line that the program had printed before the cut, or the number of an event that was over.
        before: a line that it had not printed yet, or the number of an event that had not begun.
        memory: the model of mapped memory, as for --memory.

    Returns:
        The answer: `possible`, `decided`, and for each row the moments, what survived and what was lost, or the nearest
        possible state and where the image differs from it.
    """
    opened = trace if isinstance(trace, Trace) else Trace.open(trace)
    rows = file_systems(fs, memory)
    _require_snapshot(opened)
    observed = image if isinstance(image, ObservedImage) else read_folder(image, _untouched(Timeline(opened, rows[0])))
    places = Places(opened)
    answers = [_answer(opened, row, observed, places, after, before) for row in rows]
    return MatchResult(tuple(answers), tuple([f"{_CUT}."] if opened.truncated else []))


def _answer(
    trace: Trace,
    row: FileSystem,
    image: ObservedImage,
    places: Places,
    after: str | int | None,
    before: str | int | None,
) -> RowAnswer:
    timeline = Timeline(trace, row)
    _require_kinship(timeline, image)
    moments = window(timeline, after, before)
    matcher, words = Matcher(timeline), Describing(timeline, places)
    found = matcher.match(image, moments.first, moments.last)
    if found.possible:
        return words.possible(found)
    doubt = _doubt(timeline, moments) if found.decided else _GIVEN_UP
    near = matcher.nearest(image, moments.first, moments.last)
    return words.not_found(near, doubt, given_up=not found.decided)


def _untouched(timeline: Timeline) -> Callable[[bytes, bytes], bool]:
    """Whether a name in a folder is of something that the trace leaves out: ignored, or not touched."""
    tree, named = timeline.tree, timeline.index.names_in
    paths = {b"": ROOT} if timeline.trace.rest is not None else {}
    ignored = [os.fsdecode(word) for word in timeline.trace.meta.get("ignore", b"").split(b"\0") if word]
    waiting = list(paths.items())
    while waiting:
        path, folder = waiting.pop()
        for name, obj in tree.base.get(folder, {}).items():
            if tree.things[obj].is_open:
                waiting.append((join(path, name), obj))
                paths[waiting[-1][0]] = obj

    def is_foreign(folder: bytes, name: bytes) -> bool:
        if ignored and leaves_out(ignored, os.fsdecode(join(folder, name))):
            return True
        obj = paths.get(folder)
        return obj is not None and name not in tree.base.get(obj, {}) and name not in named.get(obj, ())

    return is_foreign


def _require_snapshot(trace: Trace) -> None:
    """Refuse a trace that ends before the program's first call: nobody knows what else was in the folder."""
    if trace.truncated and all(record[KIND] <= Kind.SNAP_OTHER for _, record in trace.calls()):
        raise UsageError(
            "trace-cut",
            f"{trace.name} ends before the program's first call, so it may not contain the whole folder.",
            "Record it again.",
        )


def _require_kinship(timeline: Timeline, image: ObservedImage) -> None:
    """Refuse a folder in which no name is one that the program knows: it is another folder, not another state."""
    known = {*timeline.tree.base.get(ROOT, {}), *timeline.index.names_in.get(ROOT, {})}
    names = image.names(b"")
    if names and not known.intersection(names) and not timeline.trace.truncated:
        raise UsageError(
            "image-foreign",
            f"{image.title} contains no name that the recorded program used.",
            "Pass the data folder itself, and the trace of the program that wrote it.",
        )


def _doubt(timeline: Timeline, moments: Window) -> str:
    """Why an image that no state explains may be possible all the same; empty if it is not."""
    if timeline.trace.truncated and moments.last is None:
        return _CUT
    mapped = [obj for obj, thing in enumerate(timeline.tree.things) if thing.mapped]
    if mapped:
        name = timeline.index.path_of(mapped[0]).decode("utf-8", "replace")
        return f"the program may have stored to {name} through a mapping, and this trace has no stores"
    if timeline.notes or timeline.tree.unknown:
        why = timeline.notes[0] if timeline.notes else "the trace uses an unknown file"
        return f"the trace is incomplete: {why}"
    return ""
