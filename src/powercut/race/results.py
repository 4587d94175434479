"""The results of all executions so far: suspicions, verdicts and findings.

Before: one execution after the other, as `Shown`. After: each sort of suspicion is a case to be judged, until it is
clear, and each root cause that nothing excuses is one finding. It is there from the first moment, as a candidate, with
all that replays it in a folder of its own: the trace, the seed and the schedule. Verdicts make it more than that, or
take it back. Nothing here waits for a recovery or a check, and everything is done under the workbench (`image_judge`).
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from pathlib import Path

from powercut.findings.finding import Finding, Location
from powercut.findings.places import Places
from powercut.oracle.verdict import Outcome, Verdict
from powercut.quick_dataclass import dataclass
from powercut.race.allow import AllowList
from powercut.race.board import Site
from powercut.race.case import Case, Keeper
from powercut.race.locks import HeldLock
from powercut.race.race_findings import PLAN, SEED, TRACE, UNTRIED, Describer, Scheduled
from powercut.race.reproduction import Rehearsal
from powercut.race.schedule import Schedule, save_schedule
from powercut.race.suspicions import Line, Shown, Suspicion, Suspicions
from powercut.race.validation import Judged, Standing
from powercut.runs.store import write_durably
from powercut.states.state import Base, State
from powercut.trace.symbols import Symbolizer

_MOST_CASES = 128  # that wait: each keeps its trace in memory; others come again in later executions
# How much is known of a finding: more replaces less.
_KNOWN = {Standing.CANDIDATE: 0, Standing.UNCONFIRMED: 1, Standing.BUG: 2}
_BUG = _KNOWN[Standing.BUG]


@dataclass(frozen=True, slots=True)
class _Plain:
    """A plain crash bug that may yet turn out to be what a race does."""

    finding: Finding
    shown: Shown
    keeper: Keeper


@dataclass(slots=True)
class RaceResults:
    """What was shown, judged and found.

    Attributes:
        candidates: pairs of a store and a load of what was not guaranteed; True: of two threads.
        sorts, benign, allowed: sorts of suspicions that were shown, and what became of them.
        settled: stores that are bugs.
        cases: to be judged.
        rehearsals: findings that are bugs if they replay.
    """

    folder: Path
    allow: AllowList
    workbench: AbstractContextManager[object] = field(default_factory=nullcontext)
    findings: dict[str, Finding] = field(default_factory=dict)
    candidates: dict[bool, set[Hashable]] = field(default_factory=lambda: {True: set(), False: set()})
    sorts: set[Hashable] = field(default_factory=set)
    benign: set[Hashable] = field(default_factory=set)
    allowed: set[Hashable] = field(default_factory=set)
    settled: set[Site] = field(default_factory=set)
    cases: list[Case] = field(default_factory=list)
    rehearsals: list[Rehearsal] = field(default_factory=list)
    _times: dict[Hashable, int] = field(default_factory=dict)
    _waiting: set[Hashable] = field(default_factory=set)  # sorts whose case is not settled
    _open_cases: Counter[str] = field(default_factory=Counter)  # that wait or are being judged, by id
    _settled_cases: Counter[str] = field(default_factory=Counter)  # by id
    _held_back: list[_Plain] = field(default_factory=list)
    _lock_lines: dict[str, set[Line]] = field(default_factory=dict)  # that store into the word, by id of the lock
    _known: dict[str, int] = field(default_factory=dict)
    _saved: dict[str, Path] = field(default_factory=dict)  # traces of executions, as they were saved first
    _symbols: Symbolizer = field(default_factory=Symbolizer)

    def take(self, shown: Shown, keeper: Keeper) -> list[Finding]:
        """Make cases of what one execution showed; the candidates that are new."""
        with self.workbench:
            places = Places(shown.timeline.trace, self._symbols)
            suspicions, describer = Suspicions(shown, places), Describer(shown.timeline, places)
            for between, pair in suspicions.read_pairs():
                self.candidates[between].add(pair)
            told: set[Hashable] = set()
            new = [self._open(one, suspicions, describer, keeper) for one in suspicions if self._is_open(one, told)]
        return [finding for finding in new if finding is not None]

    def next_case(self) -> Case | None:
        """The most promising case that waits: of a finding of which least is known, the first that came."""
        self.cases = [case for case in self.cases if not self._is_over(case)]
        if not self.cases:
            return None
        case = min(self.cases, key=lambda one: self._settled_cases[one.suspicion.id])
        self.cases.remove(case)
        return case

    def settle(self, case: Case, judged: Judged) -> Finding | None:
        """Take a verdict into account; a finding that is told anew, if any. A bug is to be rehearsed first."""
        name, sort = case.suspicion.id, case.suspicion.sort
        self._settled_cases[name] += 1
        try:
            if judged.standing is Standing.BENIGN:
                self.benign.add(sort)
                self._withdraw(name)
                return None
            self.benign.discard(sort)
            told = self._file(case.describe(judged), case.shown, case.suspicion.schedule, _KNOWN[judged.standing])
            if told is None or judged.standing is not Standing.BUG:
                return told
            self.rehearsals.append(self._rehearsal(told, case.shown, case.suspicion.schedule))
            self._drop_plain(told)
            return None
        finally:
            self._close(case)

    def add_ending(self, places: Iterable[int], verdict: Verdict, how: str, shown: Shown) -> Finding | None:
        """Where threads wait for ever, or where one died, each place an event; None if that is known."""
        with self.workbench:
            describer = Describer(shown.timeline, Places(shown.timeline.trace, self._symbols))
            judged = Judged(Standing.BUG, how, 0, verdict)
            scheduled = Scheduled(0, 0, shown.schedule.words, bool(shown.seed))
            end = State(shown.timeline.end, Base.ISSUED, frozenset())
            describe = describer.deadlock if verdict.outcome is Outcome.HANG else describer.death
            finding = describe(list(places), judged, end, scheduled)
        told = self._file(finding, shown, shown.schedule, _BUG)
        if told is not None:
            self.rehearsals.append(Rehearsal(told, shown.seed, [shown.schedule]))
        return told

    def add_crash_bug(self, finding: Finding, shown: Shown, keeper: Keeper) -> Finding | None:
        """A plain crash bug; None if it is known, or as long as a race that may lose the same waits for its verdict."""
        if self._may_be_race(finding):
            keeper.keep()
            self._held_back.append(_Plain(finding, shown, keeper))
            return None
        return self._file_crash_bug(finding, shown)

    def released(self, *, all_of_them: bool = False) -> Iterator[Finding]:
        """Plain crash bugs that were held back, and that no race can explain any more."""
        waiting, self._held_back = self._held_back, []
        for plain in waiting:
            if self._may_be_race(plain.finding) and not all_of_them:
                self._held_back.append(plain)
                continue
            told = self._file_crash_bug(plain.finding, plain.shown)
            plain.keeper.let_go()
            if told is not None:
                yield told

    def _may_be_race(self, finding: Finding) -> bool:
        """Whether a race waits for its verdict, or for its replays, that stores what a plain crash bug loses."""
        waiting = {*+self._open_cases, *(one.finding.id for one in self.rehearsals)}
        races = (one for one in self.findings.values() if one.race is not None and one.id in waiting)
        return bool({_line(race.locations[0]) for race in races} & (_lost_lines(finding) - {(None, None)}))

    def _file_crash_bug(self, finding: Finding, shown: Shown) -> Finding | None:
        """None if it is known, or what it loses is what a race loses: then that tells more.

        What lacks only that a lock was freed is told of the lock, too.
        """
        told_better = {_line(one.locations[0]) for one in self._bugs()}
        told_better.update(*(lines for name, lines in self._lock_lines.items() if name in self.findings))
        if (_lost_lines(finding) & told_better) - {(None, None)}:
            return None
        told = self._file(finding, shown, shown.schedule, _BUG)
        if told is not None:
            finding.state = replace(finding.state, trace=f"races/{finding.id}/{TRACE}")
        return told

    def rehearsed(self, rehearsal: Rehearsal) -> Finding:
        """A finding was executed again and again: it is a bug if it was seen again."""
        finding, race = rehearsal.finding, rehearsal.finding.race
        assert race is not None
        schedule, seen, tries = rehearsal.best
        save_schedule(self.folder / race.plan, schedule)
        bug = rehearsal.succeeded
        why = race.why.removesuffix(UNTRIED) + ("" if bug else f", but only {seen} of {tries} replays showed it again")
        finding.race = replace(race, schedule=schedule.words, seen=seen, tries=tries, why=why)
        if bug:
            finding.race = replace(finding.race, standing=Standing.BUG.value)
            finding.severity = "error"
            self.settled.update(site for point in schedule.points if point.load_occurrence for site in point.stores)
        else:
            self._known[finding.id] = _KNOWN[Standing.UNCONFIRMED]  # a later execution may have a better schedule
        return finding

    def cut_short(self, rehearsal: Rehearsal) -> None:
        """The time was over before it was clear whether a finding replays: what is known is said."""
        race, (_, seen, tries) = rehearsal.finding.race, rehearsal.best
        if race is not None and tries:
            shown = f"{seen} of {tries} replays showed it again before the time was over"
            why = f"{race.why.removesuffix(UNTRIED)}; {shown}"
            rehearsal.finding.race = replace(race, seen=seen, tries=tries, why=why)

    def _bugs(self) -> Iterator[Finding]:
        """Races that are bugs, or wait for their replays."""
        return (one for one in self.findings.values() if one.race is not None and self._known[one.id] == _BUG)

    def _drop_plain(self, race: Finding) -> None:
        """What was told as a plain crash bug may turn out to be what a race does."""
        stored = _line(race.locations[0])
        plain = [one.id for one in self.findings.values() if one.race is None and stored in _lost_lines(one)]
        for name in plain:
            del self.findings[name], self._known[name]

    def _is_open(self, suspicion: Suspicion, told: set[Hashable]) -> bool:
        """Whether a suspicion is to be judged; `told` are bugs and sorts that this execution has shown already."""
        self.sorts.add(suspicion.sort)
        known = self.findings.get(suspicion.id)
        if known is not None:
            known.occurrences += suspicion.id not in told and self._known[suspicion.id] == _BUG
        if known is not None and self._known[suspicion.id] == _BUG:
            told.add(suspicion.id)
            return False
        if suspicion.sort in self.allowed or suspicion.sort in told or suspicion.sort in self._waiting:
            return False
        told.add(suspicion.sort)
        if self.allow.covers(suspicion.stored, *suspicion.used):
            self.allowed.add(suspicion.sort)
            return False
        self._times[suspicion.sort] = times = self._times.get(suspicion.sort, 0) + 1
        return times & (times - 1) == 0  # what is benign here may not be so there; but less and less likely

    def _open(
        self, suspicion: Suspicion, suspicions: Suspicions, describer: Describer, keeper: Keeper
    ) -> Finding | None:
        """A case, and the candidate that it is until it is judged; None if that is known."""
        case = Case(suspicion, suspicions.shown, describer, *suspicions.threads(suspicion), keeper)
        if len(self.cases) < _MOST_CASES:
            self._waiting.add(suspicion.sort)
            self.cases.append(case)
            self._open_cases[suspicion.id] += 1
            keeper.keep()
        if isinstance(suspicion.subject, HeldLock):
            self._lock_lines.setdefault(suspicion.id, set()).update(suspicions.lock_lines(suspicion.subject))
        if suspicion.id in self.findings:
            return None
        return self._file(case.describe(UNJUDGED), case.shown, suspicion.schedule, _KNOWN[Standing.CANDIDATE])

    def _close(self, case: Case) -> None:
        self._waiting.discard(case.suspicion.sort)
        self._open_cases[case.suspicion.id] -= 1
        case.keeper.let_go()

    def _is_over(self, case: Case) -> bool:
        """Whether a case needs no verdict any more, as its finding is a bug."""
        over = self._known.get(case.suspicion.id) == _BUG
        if over:
            self._close(case)
        return over

    def _rehearsal(self, finding: Finding, shown: Shown, exact: Schedule) -> Rehearsal:
        schedules = [exact, shown.schedule] if exact != shown.schedule else [exact]
        return Rehearsal(finding, shown.seed, schedules)

    def _withdraw(self, name: str) -> None:
        """A candidate is benign: it is none any more, unless there is more of it."""
        waits = any(case.suspicion.id == name for case in self.cases)
        if name in self.findings and self._known[name] == _KNOWN[Standing.CANDIDATE] and not waits:
            del self.findings[name], self._known[name]
            home = self.folder / "races" / name
            self._saved = {trace: path for trace, path in self._saved.items() if path.parent != home}
            shutil.rmtree(home, ignore_errors=True)

    def _file(self, finding: Finding, shown: Shown, schedule: Schedule, known: int) -> Finding | None:
        """Keep a finding and what replays it, unless it is known as well or better; None then."""
        before = self.findings.get(finding.id)
        if before is not None and self._known[finding.id] >= known:
            before.occurrences += 1
            return None
        finding.occurrences = before.occurrences if before is not None else 1
        home = self.folder / "races" / finding.id
        home.mkdir(parents=True, exist_ok=True)
        self._save_trace(shown.timeline.trace.name, home / TRACE)
        write_durably(home / SEED, shown.seed)
        save_schedule(home / PLAN, schedule)
        self.findings[finding.id], self._known[finding.id] = finding, known
        return finding

    def _save_trace(self, name: str, target: Path) -> None:
        """Findings of one execution share its trace."""
        target.unlink(missing_ok=True)
        first = self._saved.get(name)
        if first is not None:
            try:
                os.link(first, target)
            except OSError:  # no links here, or it was replaced
                first = None
        if first is None:
            shutil.copyfile(name, target)
            self._saved[name] = target


UNJUDGED = Judged(Standing.CANDIDATE, "it was seen, but not judged yet", 0, Verdict(Outcome.ERROR))


def _line(location: Location) -> Line:
    return location.file, location.line


def _lost_lines(finding: Finding) -> set[Line]:
    """Where a plain crash bug stored what it loses."""
    return {_line(location) for location in finding.locations if location.role in ("lost", "missing")}
