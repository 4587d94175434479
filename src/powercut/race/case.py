"""A case: a suspicion that waits for its verdict, with what it takes to judge and to tell it.

Its execution's files are kept until it is settled.
"""

from __future__ import annotations

from typing import Protocol

from powercut.findings.finding import Finding
from powercut.quick_dataclass import dataclass
from powercut.race.inconsistencies import Inconsistency
from powercut.race.race_findings import Describer, Scheduled
from powercut.race.suspicions import Shown, Suspicion
from powercut.race.validation import Judged, Validator, scene_of_lock, scenes_of


class Keeper(Protocol):
    """Keeps the files of an execution."""

    def keep(self) -> None:
        """Somebody more needs them."""

    def let_go(self) -> None:
        """Somebody needs them no more."""


@dataclass(frozen=True, slots=True)
class Case:
    """A suspicion of one execution.

    Attributes:
        writer, reader: indices of threads; of a lock, both are the thread that takes it.
    """

    suspicion: Suspicion
    shown: Shown
    describer: Describer
    writer: int
    reader: int
    keeper: Keeper

    def judge(self, validator: Validator) -> Judged:
        """What a recovery and a check make of it."""
        subject, timeline = self.suspicion.subject, self.shown.timeline
        if isinstance(subject, Inconsistency):
            return validator.judge(timeline, subject)
        return validator.judge_lock(timeline, subject)

    def describe(self, judged: Judged) -> Finding:
        """The same as a finding."""
        subject, timeline = self.suspicion.subject, self.shown.timeline
        scheduled = Scheduled(self.writer, self.reader, self.suspicion.schedule.words, bool(self.shown.seed))
        if isinstance(subject, Inconsistency):
            state = scenes_of(timeline, subject)[judged.scene].harmful
            return self.describer.race(subject, judged, state, scheduled)
        return self.describer.lock(subject, judged, scene_of_lock(timeline, subject).harmful, scheduled)
