"""Running a recovery on a crash image, under the memory tracer, so that every byte it writes is known.

Before: a crash state. After: how the recovery ended, and which bytes of the image it wrote. PMRace calls an effect
benign if all of it is overwritten; that is asked here of the trace of the recovery, file by file.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from powercut.image.state_image import StateImage, files_of
from powercut.model.filesystem import ONE_ROW
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.record.execution import Execution, execute
from powercut.record.recorder import RecordOptions
from powercut.runs.replay import export_image
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind


@dataclass(frozen=True, slots=True)
class Bytes:
    """Some bytes of a file, by its path in the data folder."""

    path: bytes
    start: int
    length: int


class Recovered:
    """An image after a recovery."""

    def __init__(self, execution: Execution) -> None:
        self.verdict = Verdict(execution.outcome, execution.code, execution.last_words(), execution.seconds)
        self.ending = execution.ending
        self._timeline = Timeline(execution.trace, ONE_ROW)
        first, last = State(0, Base.GUARANTEED, frozenset()), State(self._timeline.end, Base.ISSUED, frozenset())
        self._before = files_of(StateImage(self._timeline, first))
        self._image = StateImage(self._timeline, last)
        self._after = files_of(self._image)

    def wrote(self, wanted: Bytes) -> bool:
        """Whether it wrote all of some bytes, or put another file, or none, in their file's place."""
        file = self._before.get(wanted.path)
        if file is None or self._after.get(wanted.path) != file:
            return True
        updates = self._timeline.updates
        objects = np.array(updates.obj, np.int32)
        missing = set(range(wanted.start, wanted.start + wanted.length))
        for update in np.flatnonzero(objects == file).tolist():
            missing -= _written(updates.kind[update], updates.start[update], updates.length[update], missing)
            if not missing:
                return True
        return False

    def holds(self, wanted: Bytes) -> bytes:
        """What the bytes are in the end; none if their file is gone."""
        file = self._after.get(wanted.path)
        return self._image.read(file, wanted.start, wanted.length) if file is not None else b""


def _written(kind: int, start: int, length: int, wanted: set[int]) -> set[int]:
    """Which of some bytes an update changed: data, zeros, or a truncate, which takes all behind it."""
    if kind == UpdateKind.CUT:
        return {byte for byte in wanted if byte >= start + length}
    if kind in (UpdateKind.DATA, UpdateKind.ZERO, UpdateKind.FILL):
        return {byte for byte in wanted if start <= byte < start + length}
    return set()


@dataclass(frozen=True, slots=True)
class Recovery:
    """The command that recovers, and how it is run.

    Attributes:
        options: as for a recording; output and content are each image's own.
        scratch: a folder of ours for images.
        limit: seconds after which it hangs,
        patience: if it does so again with that many; None: that is believed at once. The machine may just be busy.
        workbench: held while timelines are looked at (`image_judge`).
    """

    command: Sequence[str]
    options: RecordOptions
    scratch: Path
    limit: float
    workbench: AbstractContextManager[object] = field(default_factory=nullcontext)
    patience: float | None = None

    def on(self, timeline: Timeline, state: State) -> Recovered:
        """Run it on the image of a state."""
        place = Path(tempfile.mkdtemp(prefix="recovery-", dir=self.scratch))
        try:
            image = place / "image"
            with self.workbench:
                export_image(timeline, state, image)
            # Only its stores count, not who made them.
            options = replace(self.options, output=place / "trace", content=image, limit=self.limit, stacks=False)
            execution = execute(self.command, options)
            if execution.outcome is not Outcome.HANG or self.patience is None:
                with self.workbench:
                    return Recovered(execution)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return replace(self, limit=self.patience, patience=None).on(timeline, state)
