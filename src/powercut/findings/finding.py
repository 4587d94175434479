"""A finding: one root cause with all evidence, in the form in which it is saved and reported."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from pathlib import PurePath

from powercut.findings.identity import identify
from powercut.quick_dataclass import dataclass
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
class StackFrame:
    """One level of a call stack, as it is saved.

    Attributes:
        line: in the file; None where it is not known.
        module: the binary or library, of native code.
        asked: the joint of a stack across threads or callbacks: from here on outwards it is that of whoever asked.
    """

    function: str
    file: str | None = None
    line: int | None = None
    module: str | None = None
    asked: bool = False

    @property
    def words(self) -> str:
        """The function, and at the joint that this is one."""
        return f"asked for by {self.function}" if self.asked else self.function

    @property
    def has_source(self) -> bool:
        """Whether it names a line that can be looked up: one of a file whose folder is known."""
        return self.file is not None and self.file.startswith("/") and self.line is not None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file or self.module or "?"
        return f"{self.words} at {place}"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the program that takes part in a finding.

    Attributes:
        role: "lost", "missing" (it had not been made yet), "survived" or "acknowledged"; of a race "stored", "read",
            "effect", "taken", "waits" or "dies".
        what: the update or output in words.
        frames: the whole call stack, innermost first.
        detail: what tells it from other places on the same line, in ids.
        inside: where a caller is named, the function and line that made the call itself.
        process: where no line of the program is known, the command line that ran.
        asked: where another thread, or a callback, made the call: the function and line that asked for it.
    """

    file: str | None
    line: int | None
    function: str | None
    role: str
    what: str = ""
    frames: tuple[StackFrame, ...] = ()
    detail: str = ""
    inside: str = ""
    asked: str = ""
    process: str = ""

    @property
    def stack(self) -> tuple[str, ...]:
        """The call stack, one line each."""
        return tuple(map(str, self.frames))

    @property
    def short(self) -> str:
        """The place without its folder, for sentences."""
        if self.file is None:
            return self.function or "unknown place"
        name = PurePath(self.file).name
        return f"{name}:{self.line}" if self.line else name

    @property
    def named(self) -> str:
        """The same; where no line is known, what was done there as well."""
        if self.file or not self.what:
            return self.short
        return f"{self.what} ({self.function})" if self.function else self.what

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
class Doubt:
    """A state of which the check did not say one thing, under a name that replay takes.

    Attributes:
        message: what it said, or that it did not end.
    """

    id: str
    message: str
    state: SavedState


@dataclass(frozen=True, slots=True)
class AddedSync:
    """A sync that a fix adds, as the tracer can add it.

    Attributes:
        what: "file", "data" (fdatasync), "directory" or "lines" (a flush and a fence).
        of: an event of the run's trace: the call whose effect must be durable.
        at: an event of the run's trace: the call in front of which the sync belongs.
        after: it belongs right after each call at `of` instead.
    """

    what: str
    of: int
    at: int
    after: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """What to change, and who confirms it.

    Attributes:
        verified: every failing state of the finding that was seen is impossible with it, or passes. Without that, the
            fix is a suggestion.
        by: "model" or "check": which of the two confirmed it.
        syncs: the syncs that it adds, if it is about syncs.
    """

    text: str
    verified: bool
    by: str = "model"
    syncs: tuple[AddedSync, ...] = ()


class TriedOutcome(StrEnum):
    """What became of a finding when its fix was put in."""

    GONE = "gone"
    STILL_THERE = "still there"
    NOT_SEEN = "not seen again"  # in a search that ended before it had come as far as the first one


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a finding when the program ran again with its fix put in by the tracer.

    Attributes:
        put_in: how many syncs the tracer put in.
        states: how many states were covered then.
        findings: what was found then, by id; `seen` is the one of them that shows the finding again.
        run: the folder of that run, beside those of others: powercut show RUN/ID explains what was found there.
    """

    outcome: TriedOutcome
    put_in: int
    states: int
    findings: tuple[str, ...]
    seen: str | None
    run: str


@dataclass(frozen=True, slots=True)
class Race:
    """How a race was found, what shows it, and what it takes to see it again.

    Attributes:
        standing: "bug", "unconfirmed" or "candidate" (not judged, or not seen again), and `why`.
        writer, reader: indices of threads, in the order of their creation.
        seed: file in the run's folder with what the program read; None if it read nothing.
        plan: file in the run's folder with the schedule.
        schedule: the same in words.
        seen, tries: in how many of how many replays it was seen again, before it was told.
    """

    standing: str
    why: str
    writer: int
    reader: int
    seed: str | None
    plan: str
    schedule: str
    seen: int = 0
    tries: int = 0


@dataclass(slots=True)
class Finding:
    """One root cause.

    Attributes:
        severity: "error", or "note" for a race that nothing confirms.
        recovery: the call stack of the check where it died, innermost first.
        cut_short: there was no time to shrink the state further or to ask for its kind. It is provisional: its id is
            none that a baseline takes, and no other state is counted as its own.
        race: of a race, how it came about.
        reached: how many states were covered when it was found.
        tried: what became of it when its fix was put in; None if nobody tried.
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
    reached: int = 0
    tried: Tried | None = None

    def identify(self) -> str:
        """An id that stays the same from run to run: the kind and the places, without addresses or folders.

        Races are told apart by the store, or the lock, alone: who reads it first differs from run to run.
        """
        return identify(self.kind.value, self.locations[:1] if self.kind in RACE_KINDS else self.locations)
