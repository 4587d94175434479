"""The results of all executions so far: suspicions, verdicts and findings.

Before: one execution after the other, as `Shown`. After: each sort of suspicion was judged until it was clear, and each
root cause that nothing excuses is one finding, with all that replays it in a folder of its own: the trace, the seed and
the schedule. Executions may be assessed by several threads.
"""

from __future__ import annotations

import shutil
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from powercut.findings.finding import Finding
from powercut.findings.places import Places
from powercut.oracle.verdict import Outcome, Verdict
from powercut.race.allow import AllowList
from powercut.race.board import Site
from powercut.race.inconsistencies import Inconsistency
from powercut.race.race_findings import PLAN, SEED, TRACE, Describer, Scheduled
from powercut.race.schedule import Schedule, save_schedule
from powercut.race.suspicions import Shown, Suspicion, Suspicions
from powercut.race.validation import Judged, Standing, Validator, scene_of_lock, scenes_of
from powercut.runs.store import write_durably
from powercut.states.state import Base, State
from powercut.trace.symbols import Symbolizer


@dataclass(slots=True)
class RaceResults:
    """What was shown, judged and found.

    Attributes:
        candidates: pairs of a store and a load of what was not guaranteed; True: of two threads.
        sorts, benign, allowed: sorts of suspicions that were shown, and what became of them.
        settled: stores that are bugs.
    """

    folder: Path
    validator: Validator
    allow: AllowList
    findings: dict[str, Finding] = field(default_factory=dict)
    candidates: dict[bool, set[Hashable]] = field(default_factory=lambda: {True: set(), False: set()})
    sorts: set[Hashable] = field(default_factory=set)
    benign: set[Hashable] = field(default_factory=set)
    allowed: set[Hashable] = field(default_factory=set)
    settled: set[Site] = field(default_factory=set)
    _times: dict[Hashable, int] = field(default_factory=dict)
    _symbols: Symbolizer = field(default_factory=Symbolizer)
    _turn: Lock = field(default_factory=Lock)

    def assess(self, shown: Shown) -> list[Finding]:
        """Judge what one execution showed; the findings that are new."""
        with self._turn:  # judging forks, and looks up symbols
            places = Places(shown.timeline.trace, self._symbols)
            suspicions, describer = Suspicions(shown, places), Describer(shown.timeline, places)
            for between, pair in suspicions.read_pairs():
                self.candidates[between].add(pair)
            told: set[Hashable] = set()
            found = [self._judge(c, shown, suspicions, describer) for c in suspicions if self._is_open(c, told)]
        return [finding for finding in found if finding is not None]

    def add_ending(self, places: Iterable[int], verdict: Verdict, how: str, shown: Shown) -> Finding | None:
        """Where threads wait for ever, or where one died, each place an event; None if that is known."""
        with self._turn:
            describer = Describer(shown.timeline, Places(shown.timeline.trace, self._symbols))
            judged = Judged(Standing.BUG, how, 0, verdict)
            scheduled = Scheduled(0, 0, shown.schedule.words, bool(shown.seed))
            end = State(shown.timeline.end, Base.ISSUED, frozenset())
            describe = describer.deadlock if verdict.outcome is Outcome.HANG else describer.death
            return self._file(describe(list(places), judged, end, scheduled), shown, shown.schedule)

    def reschedule(self, finding: Finding, schedule: Schedule) -> None:
        """Save another schedule with a finding."""
        if finding.race is not None:
            save_schedule(self.folder / finding.race.plan, schedule)
            finding.race = replace(finding.race, schedule=schedule.words)

    def _is_open(self, suspicion: Suspicion, told: set[Hashable]) -> bool:
        """Whether a suspicion is to be judged; `told` are bugs and sorts that this execution has shown already."""
        self.sorts.add(suspicion.sort)
        known = self.findings.get(suspicion.id)
        if known is not None and known.severity == "error":
            known.occurrences += suspicion.id not in told
            told.add(suspicion.id)
            return False
        if suspicion.sort in self.allowed or suspicion.sort in told:
            return False
        told.add(suspicion.sort)
        if self.allow.covers(suspicion.stored, *suspicion.used):
            self.allowed.add(suspicion.sort)
            return False
        self._times[suspicion.sort] = times = self._times.get(suspicion.sort, 0) + 1
        return times & (times - 1) == 0  # what is benign here may not be so there; but less and less likely

    def _judge(
        self, suspicion: Suspicion, shown: Shown, suspicions: Suspicions, describer: Describer
    ) -> Finding | None:
        subject, timeline = suspicion.subject, shown.timeline
        words, has_seed = suspicion.schedule.words, bool(shown.seed)
        writer = suspicions.thread(subject.store)
        if isinstance(subject, Inconsistency):
            judged, scenes = self.validator.judge(timeline, subject), scenes_of(timeline, subject)
            scheduled = Scheduled(writer, suspicions.thread(subject.load), words, has_seed)
            finding = describer.race(subject, judged, scenes[judged.scene].harmful, scheduled)
        else:
            judged, scene = self.validator.judge_lock(timeline, subject), scene_of_lock(timeline, subject)
            finding = describer.lock(subject, judged, scene.harmful, Scheduled(writer, writer, words, has_seed))
        if judged.standing is Standing.BENIGN:
            self.benign.add(suspicion.sort)
            return None
        self.benign.discard(suspicion.sort)
        return self._file(finding, shown, suspicion.schedule)

    def _file(self, finding: Finding, shown: Shown, schedule: Schedule) -> Finding | None:
        """Keep a finding and what replays it, unless it is known as well or better; None then."""
        known = self.findings.get(finding.id)
        if known is not None and (known.severity == "error" or finding.severity != "error"):
            known.occurrences += 1
            return None
        self.findings[finding.id] = finding
        if finding.severity == "error":
            self.settled.update(site for point in schedule.points if point.load_occurrence for site in point.stores)
        home = self.folder / "races" / finding.id
        home.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(shown.timeline.trace.name, home / TRACE)
        write_durably(home / SEED, shown.seed)
        save_schedule(home / PLAN, schedule)
        return finding
