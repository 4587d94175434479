"""Reproduction: whether a schedule shows a race again, and how often.

A finding is a bug only if its replay shows it again. The schedule that met it with one load and one store of one thread
each is the most exact; where locks stand in the way, the one under which it was found does better. So both are
rehearsed, one execution after the other, until one of them has shown it often enough, or no schedule can any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field

from powercut.findings.finding import Finding, FindingKind
from powercut.findings.places import Places
from powercut.model.filesystem import FileSystem
from powercut.quick_dataclass import dataclass
from powercut.race.campaign import Campaign, Stage
from powercut.race.schedule import Schedule
from powercut.race.suspicions import Shown, Suspicions
from powercut.states.timeline import Timeline
from powercut.trace.symbols import Symbolizer

TRIES = 10  # executions of a schedule,
NEEDED = 9  # of which so many must show it again


@dataclass(slots=True)
class _Record:
    """How a schedule does: executions that were begun, that showed the race, and that did not."""

    schedule: Schedule
    begun: int = 0
    seen: int = 0
    missed: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it may still show it often enough."""
        return self.begun < TRIES and self.missed <= TRIES - NEEDED


@dataclass(slots=True)
class Rehearsal:
    """The executions in which a finding must be seen again; several may be under way."""

    finding: Finding
    seed: bytes
    schedules: Sequence[Schedule]
    _records: list[_Record] = field(init=False)

    def __post_init__(self) -> None:
        self._records = [_Record(schedule) for schedule in self.schedules]

    def next(self) -> Schedule | None:
        """The schedule to try next; None if none is left, or none as long as others are under way."""
        for record in self._records:
            if record.is_open:
                record.begun += 1
                return record.schedule
            if record.seen >= NEEDED or record.begun > record.seen + record.missed:
                return None  # it is as good as needed, or may still be
        return None

    def told(self, schedule: Schedule, *, seen: bool) -> None:
        """What an execution showed."""
        record = next(one for one in self._records if one.schedule == schedule)
        record.seen += seen
        record.missed += not seen

    @property
    def is_over(self) -> bool:
        """Whether every execution that was begun is told, and no other is needed."""
        under_way = any(record.begun > record.seen + record.missed for record in self._records)
        return not under_way and (self.succeeded or not any(record.is_open for record in self._records))

    @property
    def succeeded(self) -> bool:
        """Whether a schedule shows it often enough."""
        return any(record.seen >= NEEDED for record in self._records)

    @property
    def best(self) -> tuple[Schedule, int, int]:
        """The schedule that shows it most often, the first of equals; in how many of how many executions."""
        best = max(self._records, key=lambda record: record.seen / max(1, record.seen + record.missed))
        return best.schedule, best.seen, best.seen + best.missed


@dataclass(slots=True)
class Reproduction:
    """Executes a program again."""

    stage: Stage
    row: FileSystem
    workbench: AbstractContextManager[object] = field(default_factory=nullcontext)
    _symbols: Symbolizer = field(default_factory=Symbolizer)

    def shows(self, finding: Finding, seed: bytes, schedule: Schedule) -> bool:
        """Whether an execution shows a race."""
        with self.stage.perform(seed, schedule) as campaign:
            if finding.kind is FindingKind.DEADLOCK:
                return campaign.hung
            if finding.kind is FindingKind.DEATH:
                return campaign.died and campaign.execution.code == finding.code
            with self.workbench:
                return finding.id in self._ids(campaign)

    def _ids(self, campaign: Campaign) -> set[str]:
        """Ids of all races that an execution shows."""
        timeline = Timeline(campaign.execution.trace, self.row)
        shown = Shown(timeline, campaign.seed, campaign.schedule, campaign.thread_index, {})
        return {suspicion.id for suspicion in Suspicions(shown, Places(timeline.trace, self._symbols))}
