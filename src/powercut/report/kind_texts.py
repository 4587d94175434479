"""Rules: every sort of thing that powercut reports, with what to say about it in general.

A finding's rule is its kind; that of a misuse is its pattern, with its variant where there are several. Ids keep their
meaning from version to version: other programs group and silence by them.
"""

from __future__ import annotations

from powercut.findings.finding import FindingKind
from powercut.lint.patterns import PATTERNS, Pattern
from powercut.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One sort.

    Attributes:
        title: in a few words.
        description: what it means, in a sentence or two.
        help: what to do about it.
    """

    id: str
    title: str
    description: str
    help: str


_REPLAY = "`powercut replay` rebuilds the crashed folder. After the change, run powercut again."

_RACE = "`powercut replay` runs the program again with the same input and schedule."

KINDS = {
    FindingKind.ATOMICITY: Rule(
        "atomicity",
        "not atomic",
        "A power cut between or inside calls that must happen together leaves a state on which the check fails.",
        "Adding a sync does not fix this. Make the change atomic (write a new file, sync it, rename it into place, "
        f"sync the directory), or make recovery detect the half-finished state. {_REPLAY}",
    ),
    FindingKind.ORDERING: Rule(
        "ordering",
        "wrong order",
        "A power cut can keep a later change and lose an earlier one, which is synced too late.",
        f"Sync the earlier change before making the later one. {_REPLAY}",
    ),
    FindingKind.UNPERSISTED: Rule(
        "unpersisted",
        "never synced",
        "A power cut can keep a later change and lose an earlier one, which is never synced.",
        f"Sync the earlier change (fdatasync, fsync, fsync on the directory, or flush and fence). {_REPLAY}",
    ),
    FindingKind.DURABILITY: Rule(
        "durability",
        "acknowledged but lost",
        "The program printed or sent that something is done, and a power cut can still undo it.",
        f"Make the change durable first, then report it. A new name is durable once its directory is synced. {_REPLAY}",
    ),
    FindingKind.RECOVERY: Rule(
        "recovery",
        "recovery fails",
        "On a state that a power cut can leave, the recovery itself crashes or hangs.",
        f"Recovery must expect every state that a crash can leave: check data before relying on it. {_REPLAY}",
    ),
    FindingKind.INTER_THREAD: Rule(
        "inter-thread",
        "race on data that is not durable",
        "A thread read data that another thread had stored but not made durable, and persisted something based on it. "
        "A power cut can keep one and lose the other.",
        f"Flush and fence the data before other threads can see it. {_RACE}",
    ),
    FindingKind.INTRA_THREAD: Rule(
        "intra-thread",
        "depends on data that is not durable",
        "A thread read back data that it had stored but not made durable, and persisted something based on it. A power "
        "cut can keep one and lose the other.",
        f"Flush and fence the data before anything durable depends on it. {_RACE}",
    ),
    FindingKind.SYNCHRONIZATION: Rule(
        "synchronization",
        "lock survives its holder",
        "After a power cut, a lock in persistent memory is still held by a thread that no longer exists, and recovery "
        "does not free it.",
        f"Free the lock when the program starts, or keep it in ordinary memory. {_RACE}",
    ),
    FindingKind.DEADLOCK: Rule(
        "deadlock",
        "threads wait forever",
        "Even without a power cut, threads wait for each other, or for a lock that no thread frees.",
        f"Free every lock on every path, and take locks in one order. {_RACE}",
    ),
    FindingKind.DEATH: Rule(
        "death",
        "program dies",
        "Even without a power cut, a signal kills the program under some thread schedule, or with some input.",
        f"Look at the data that the threads share there, and which thread changes it. {_RACE}",
    ),
}


def pattern_rule_id(pattern: str, why: str) -> str:
    """The rule of a pattern of misuse, as `redundant-flush/clean`."""
    return f"{pattern}/{why}" if why else pattern


def _rule_of(pattern: Pattern) -> Rule:
    """A pattern's words without the places, which its sightings have."""
    words = f"{pattern.title[:1].upper()}{pattern.title[1:]}: a {pattern.severity.value} of {pattern.harm.value}."
    return Rule(
        pattern_rule_id(pattern.name, pattern.why),
        pattern.title,
        words,
        f"{pattern.advice[:1].upper()}{pattern.advice[1:]}.",
    )


RULES = (*KINDS.values(), *map(_rule_of, PATTERNS))
