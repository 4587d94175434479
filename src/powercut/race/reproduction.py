"""Reproduction: whether a schedule shows a race again.

A finding must replay. The schedule that met it with one load and one store of one thread each is the most exact; where
locks stand in the way, the one under which it was found does better. So both are tried before one is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from powercut.findings.finding import Finding, FindingKind
from powercut.findings.places import Places
from powercut.model.filesystem import FileSystem
from powercut.race.campaign import Campaign, Stage
from powercut.race.schedule import Schedule
from powercut.race.suspicions import Shown, Suspicions
from powercut.states.timeline import Timeline
from powercut.trace.symbols import Symbolizer

_TRIES = 3  # executions of each schedule, before one is chosen


@dataclass(slots=True)
class Reproduction:
    """Executes a program again."""

    stage: Stage
    row: FileSystem
    _symbols: Symbolizer = field(default_factory=Symbolizer)
    _turn: Lock = field(default_factory=Lock)

    def shows(self, finding: Finding, seed: bytes, schedule: Schedule) -> bool:
        """Whether an execution shows a race."""
        with self.stage.perform(seed, schedule) as campaign:
            if finding.kind is FindingKind.DEADLOCK:
                return campaign.hung
            if finding.kind is FindingKind.DEATH:
                return campaign.died and campaign.execution.code == finding.code
            return finding.id in self._ids(campaign)

    def best(self, finding: Finding, seed: bytes, schedules: Sequence[Schedule]) -> Schedule:
        """The schedule that shows it most often, the first of equals."""
        seen: list[int] = []
        for schedule in schedules:
            seen.append(sum(self.shows(finding, seed, schedule) for _ in range(_TRIES)))
            if seen[-1] == _TRIES:
                break
        return schedules[seen.index(max(seen))]

    def _ids(self, campaign: Campaign) -> set[str]:
        """Ids of all races that an execution shows."""
        timeline = Timeline(campaign.execution.trace, self.row)
        shown = Shown(timeline, campaign.seed, campaign.schedule, campaign.thread_index, {})
        with self._turn:
            return {suspicion.id for suspicion in Suspicions(shown, Places(timeline.trace, self._symbols))}
