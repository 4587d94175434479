"""Findings of races: places, texts and ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from powercut.findings.finding import Finding, FindingKind, Fix, Location, Race, SavedState
from powercut.findings.places import Places
from powercut.quick_dataclass import dataclass
from powercut.race.inconsistencies import Inconsistency
from powercut.race.locks import HeldLock
from powercut.race.validation import Judged, Standing
from powercut.states.state import State
from powercut.states.timeline import Timeline
from powercut.trace.layout import Effect

_MOST = 6  # updates that are named
_CUT = "a power cut can keep one and lose the other"
STORED, TAKEN = "stored", "taken"  # the roles that a race is known by
UNTRIED = "; it was not replayed yet"  # what is said of a bug before its replay has shown it again
TRACE, SEED, PLAN = "trace", "seed", "schedule.json"  # of a finding, in a folder of its own


@dataclass(frozen=True, slots=True)
class Scheduled:
    """How an execution came to what it showed: thread indices, the schedule in words, whether it had an input."""

    writer: int
    reader: int
    words: str
    has_seed: bool


@dataclass(slots=True)
class _About:
    """What a finding is about: the updates that the crash image lacks, and those that it holds."""

    kind: FindingKind
    message: str
    locations: list[Location]
    fix: str = ""
    lacks: Sequence[int] = ()
    holds: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Describer:
    """Makes findings of what one campaign showed."""

    timeline: Timeline
    places: Places

    def race(self, found: Inconsistency, judged: Judged, state: State, scheduled: Scheduled) -> Finding:
        """An inconsistency as a finding."""
        stored = self.places.location(found.store, STORED, self.timeline.describe_call(found.store))
        read = self.places.location(found.load, "read", "read before it was durable")
        effect = self._effect(found)
        kind = FindingKind.INTER_THREAD if found.between_threads else FindingKind.INTRA_THREAD
        about = _About(kind, _sentence(found, stored, read, effect, scheduled), [stored, read, effect])
        about.fix, about.lacks, about.holds = _fix(kind, stored, effect), found.lost, found.made
        return self._finding(about, judged, state, scheduled)

    def lock(self, lock: HeldLock, judged: Judged, state: State, scheduled: Scheduled) -> Finding:
        """A lock that survives its holder, as a finding."""
        taken = self.places.location(lock.store, TAKEN, self.timeline.describe_call(lock.store))
        message = (
            f"{taken.short} takes a lock in persistent memory. After a power cut it is still taken, by a thread that "
            f"no longer exists, and {judged.why}."
        )
        text = f"when the program starts, free the lock that {taken.short} takes, or keep it in ordinary memory"
        about = _About(FindingKind.SYNCHRONIZATION, message, [taken], text, holds=[lock.update])
        return self._finding(about, judged, state, scheduled)

    def deadlock(self, threads: Iterable[int], judged: Judged, state: State, scheduled: Scheduled) -> Finding:
        """Threads that wait for ever, each at an event of the trace, as a finding."""
        waiting = [self.places.location(event, "waits", "waits here") for event in threads]
        waiting.sort(
            key=lambda location: any("join" in frame for frame in location.stack)
        )  # who waits for others, last
        where = ", ".join(dict.fromkeys(location.short for location in waiting))
        message = f"Even without a power cut, threads wait forever for each other or for a lock, at {where}."
        text = "free every lock on every path, and always take locks in the same order"
        about = _About(FindingKind.DEADLOCK, message, waiting, text)
        return self._finding(about, judged, state, scheduled)

    def death(self, places: Iterable[int], judged: Judged, state: State, scheduled: Scheduled) -> Finding:
        """A signal that killed the program, at an event of the trace, as a finding."""
        dies = [self.places.location(event, "dies", judged.why) for event in places]
        where = ", ".join(location.short for location in dies)
        message = f"Even without a power cut, the program {judged.why} at {where}."
        text = "find out which thread changes the data that is used there; a replay repeats the schedule"
        return self._finding(_About(FindingKind.DEATH, message, dies, text), judged, state, scheduled)

    def _effect(self, found: Inconsistency) -> Location:
        event = found.effect[0]
        if found.how & Effect.OUTPUT:
            said = not found.made
            return self.places.of_output(self.timeline, event) if said else self.places.location(event, "effect", "")
        return self.places.location(event, "effect", self.timeline.describe_call(event))

    def _words(self, updates: Sequence[int]) -> list[str]:
        """Some updates in words, equal ones once."""
        return list(dict.fromkeys(self.timeline.describe(update) for update in updates[:_MOST]))

    def _finding(self, about: _About, judged: Judged, state: State, scheduled: Scheduled) -> Finding:
        row = self.timeline.row
        delta = tuple(sorted(state.delta))
        saved = SavedState(row.name, row.piece, state.point, state.base.value, delta, row.memory.name)
        finding = Finding(
            about.kind,
            about.message,
            about.locations,
            Fix(about.fix, verified=False),
            self._words(about.lacks),
            self._words(about.holds),
            saved,
            judged.verdict.outcome.value,
            judged.verdict.code,
            judged.verdict.output,
            models=[self.timeline.label],
            severity="note",  # until its replay has shown it again
        )
        finding.id = finding.identify()
        return _placed(finding, judged, scheduled)


def _placed(finding: Finding, judged: Judged, scheduled: Scheduled) -> Finding:
    """A finding that knows its id, and so the folder of what replays it."""
    home = f"races/{finding.id}"
    finding.state = replace(finding.state, trace=f"{home}/{TRACE}")
    bug = judged.standing is Standing.BUG
    finding.race = Race(
        Standing.CANDIDATE.value if bug else judged.standing.value,
        judged.why + (UNTRIED if bug else ""),
        scheduled.writer,
        scheduled.reader,
        f"{home}/{SEED}" if scheduled.has_seed else None,
        f"{home}/{PLAN}",
        scheduled.words,
    )
    return finding


def _sentence(found: Inconsistency, stored: Location, read: Location, effect: Location, scheduled: Scheduled) -> str:
    if found.between_threads:
        who = f"Thread {scheduled.reader} reads ({read.short}) what thread {scheduled.writer} stored ({stored.short})"
    else:
        who = f"Thread {scheduled.reader} reads back ({read.short}) what it stored itself ({stored.short})"
    if found.how & Effect.OUTPUT:
        what = f"outputs something based on it ({effect.short})"
    elif found.how & Effect.VALUE:
        what = f"stores a value based on it ({effect.short})"
    else:
        what = f"stores to an address based on it ({effect.short})"
    return f"{who} before it is durable, and {what}: {_CUT}."


def _fix(kind: FindingKind, stored: Location, effect: Location) -> str:
    if kind is FindingKind.INTER_THREAD:
        return f"flush and fence what {stored.short} stores before other threads can see it"
    return f"flush and fence what {stored.short} stores before {effect.short} persists something based on it"
