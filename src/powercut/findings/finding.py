"""A finding: one root cause with all evidence, in the form in which it is saved and reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath

from powercut.findings.identity import identify
from powercut.states.state import Base, State


class FindingKind(StrEnum):
    """What went wrong, seen from the program."""

    ATOMICITY = "atomicity"  # a crash between or inside calls that must happen together
    ORDERING = "ordering"  # a later change survived, an earlier one that is synced too late did not
    UNPERSISTED = "unpersisted"  # a later change survived, an earlier one that is never synced did not
    DURABILITY = "durability"  # acknowledged to the outside, and lost
    RECOVERY = "recovery"  # the recovery itself died or hung
    INTER_THREAD = "inter-thread"  # something durable depends on what another thread had stored and a crash takes
    INTRA_THREAD = "intra-thread"  # ... on what the same thread had stored
    SYNCHRONIZATION = "synchronization"  # a lock in persistent memory survives the thread that holds it
    DEADLOCK = "deadlock"  # threads wait for each other for ever, without any crash
    DEATH = "death"  # a signal kills the program in some order of its threads, without any crash


RACE_KINDS = (
    *(FindingKind.INTER_THREAD, FindingKind.INTRA_THREAD),
    *(FindingKind.SYNCHRONIZATION, FindingKind.DEADLOCK, FindingKind.DEATH),
)


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the program that takes part in a finding.

    Attributes:
        role: "lost", "survived" or "acknowledged"; of a race "stored", "read", "effect", "taken",
            "waits" or "dies".
        what: the update or output in words.
        stack: the whole call stack, innermost first, one line each.
    """

    file: str | None
    line: int | None
    function: str | None
    role: str
    what: str = ""
    stack: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The place without its folder, for sentences."""
        if self.file is None:
            return self.function or "unknown place"
        name = PurePath(self.file).name
        return f"{name}:{self.line}" if self.line else name

    def __str__(self) -> str:
        if self.file is None:
            return self.function or "unknown place"
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class SavedState:
    """A crash state that can be rebuilt: the model's row, the state's own fields, and the trace in the run's folder."""

    model: str
    piece: int
    point: int
    base: str
    delta: tuple[int, ...]
    memory: str = "auto"
    trace: str = "trace"

    def state(self) -> State:
        """The state itself."""
        return State(self.point, Base(self.base), frozenset(self.delta))


@dataclass(frozen=True, slots=True)
class Fix:
    """What to change, and who confirms it.

    Attributes:
        verified: with an added sync the model has no such failing state; for a changed order, the check accepts it.
        by: "model" or "check": which of the two confirmed it.
    """

    text: str
    verified: bool
    by: str = "model"


@dataclass(frozen=True, slots=True)
class Race:
    """How a race was found, what shows it, and what it takes to see it again.

    Attributes:
        standing: "bug" or "unconfirmed", and `why`.
        writer, reader: indices of threads, in the order of their creation.
        seed: file in the run's folder with what the program read; None if it read nothing.
        plan: file in the run's folder with the schedule.
        schedule: the same in words.
    """

    standing: str
    why: str
    writer: int
    reader: int
    seed: str | None
    plan: str
    schedule: str


@dataclass(slots=True)
class Finding:
    """One root cause.

    Attributes:
        severity: "error", or "note" for a race that nothing confirms.
        recovery: the call stack of the check where it died, innermost first.
        cut_short: there was no time to shrink the state further, to ask for its kind, or to try the fix.
        race: of a race, how it came about.
    """

    kind: FindingKind
    message: str
    locations: list[Location]
    fix: Fix | None
    lost: list[str]
    survived: list[str]
    state: SavedState
    outcome: str
    code: int
    output: str
    models: list[str] = field(default_factory=list)
    occurrences: int = 1
    severity: str = "error"
    id: str = ""
    replay: str = ""
    recovery: tuple[str, ...] = ()
    cut_short: bool = False
    known: str | None = None  # why it is in the baseline; None if it is not
    race: Race | None = None

    def identify(self) -> str:
        """An id that stays the same from run to run: the kind and the places, without addresses or folders.

        Races are told apart by the store, or the lock, alone: who reads it first differs from run to run.
        """
        return identify(self.kind.value, self.locations[:1] if self.kind in RACE_KINDS else self.locations)
