"""Rules: every sort of thing that powercut reports, with what to say about it in general.

A finding's rule is its kind; that of a misuse is its pattern, with its variant where there are several. Ids keep their
meaning from version to version: other programs group and silence by them.
"""

from __future__ import annotations

from dataclasses import dataclass

from powercut.findings.finding import FindingKind
from powercut.lint.patterns import PATTERNS, Pattern


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


_REPLAY = "`powercut replay` builds the crashed folder again; run powercut again after the change."

_RACE = "`powercut replay` runs the program again with the same input and schedule."

KINDS = {
    FindingKind.ATOMICITY: Rule(
        "atomicity",
        "not atomic",
        "A power cut between or inside calls that must happen together leaves a state that the check refuses.",
        "No sync can help where the state is what a plain kill leaves: make the change in one step (write a new file, "
        f"sync it, rename it into place), or let recovery tell the unfinished state apart. {_REPLAY}",
    ),
    FindingKind.ORDERING: Rule(
        "ordering",
        "wrong order",
        "A later change can survive a power cut while an earlier one, which is synced too late, does not.",
        f"Sync the earlier change before the later one is made. {_REPLAY}",
    ),
    FindingKind.UNPERSISTED: Rule(
        "unpersisted",
        "never synced",
        "A later change can survive a power cut while an earlier one, which is never synced, does not.",
        f"Sync the earlier change (fdatasync, fsync, fsync of the directory, or flush and fence). {_REPLAY}",
    ),
    FindingKind.DURABILITY: Rule(
        "durability",
        "acknowledged but lost",
        "The program told the outside about a change that a power cut can still take back.",
        f"Make the change durable first, then say so. A new name is durable when its directory is synced. {_REPLAY}",
    ),
    FindingKind.RECOVERY: Rule(
        "recovery",
        "recovery fails",
        "On a state that a power cut can leave, the recovery itself dies of a signal or never ends.",
        f"Recovery must expect any state that a crash can leave: check what it reads before it relies on it. {_REPLAY}",
    ),
    FindingKind.INTER_THREAD: Rule(
        "inter-thread",
        "race on what is not durable",
        "A thread read what another one had stored and not yet made durable, and made something durable of it: a power "
        "cut can keep the one and take the other.",
        f"Flush and fence what is stored before other threads can see it. {_RACE}",
    ),
    FindingKind.INTRA_THREAD: Rule(
        "intra-thread",
        "depends on what is not durable",
        "A thread read back what it had stored and not yet made durable, and made something durable of it: a power cut "
        "can keep the one and take the other.",
        f"Flush and fence what is stored before anything durable depends on it. {_RACE}",
    ),
    FindingKind.SYNCHRONIZATION: Rule(
        "synchronization",
        "lock survives its holder",
        "A lock in persistent memory can be found taken after a power cut, by a thread that does not exist any more, "
        "and the recovery does not free it.",
        f"Free the lock when the program starts, or keep it in ordinary memory. {_RACE}",
    ),
    FindingKind.DEADLOCK: Rule(
        "deadlock",
        "threads wait for ever",
        "Without any power cut, threads of the program wait for each other, or for a lock that nobody frees.",
        f"Free every lock on every path, and take locks in one order. {_RACE}",
    ),
    FindingKind.DEATH: Rule(
        "death",
        "program dies",
        "Without any power cut, a signal kills the program in some order of its threads, or with some input.",
        f"Look at what the threads share there, and who changes it. {_RACE}",
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
