"""What tests of cuts under guard share: a service that goes on where it was, and the normal form of what a log tells.

Before: a C compiler and libpmemobj. After: a stepper (tests/guard_programs/stepper.c) has been run under guard, killed,
run to its end; of each word of its data it is known what it holds and which line wrote it, in words that are the same
for every run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from powercut.guard.endings import place_calls
from powercut.guard.history import History
from powercut.guard.log import GuardLog, RecordKind
from powercut.guard.supervise import Supervisor, Watch
from powercut.heal.heal_plan import Plan
from powercut.heal.session import Restart, Session

PROGRAMS = Path(__file__).parents[1] / "guard_programs"
STEPS = 12  # of the stepper: each kind of step comes at least twice, before and after the one that goes wrong
UNKNOWN, BASE = NOBODY = ("nobody knows", "base")  # the line of what was found, of what is older than the log
WORD = 8
HEAP = range(1 << 16, 8 << 20)  # of a small pool; the stepper's own numbers are lower, its texts higher
NEWEST = 40  # where the id of the newest entry lies in the root


def build(folder: Path) -> Path:
    """The stepper and what kills it, in a folder."""
    flags = ["-g", "-O2", "-Wall"]
    subprocess.run(["gcc", *flags, "-o", folder / "stepper", PROGRAMS / "stepper.c", "-lpmemobj", "-lpmem"], check=True)
    for name in ("kill_at", "disk_log"):
        library = ["-shared", "-fPIC", "-o", folder / f"{name}.so", PROGRAMS / f"{name}.c"]
        subprocess.run(["gcc", *flags, *library], check=True)
    return folder


@dataclass(frozen=True)
class Kill:
    """Where a run is killed: at a call of libpmem, by a library in front of the guard's or behind it."""

    call: int
    when: str  # before, after, middle
    behind: bool = True

    def __str__(self) -> str:
        return f"{self.when} call {self.call}, {'behind' if self.behind else 'in front of'} the guard"


class Stepper:
    """A stepper in a folder of its own."""

    def __init__(self, programs: Path, folder: Path, log: Path | None = None) -> None:
        self.programs, self.pool, self.log = programs, folder / "data" / "a pool", log or folder / "log"
        self.pool.parent.mkdir(exist_ok=True)
        self.said: list[str] = []

    def command(self, *words: object) -> list[str]:
        return [str(self.programs / "stepper"), str(self.pool), *map(str, words)]

    def environment(self, behind: bool = True) -> dict[str, str]:
        """For a guarded run, with the library that kills in its place; what was found is in the log."""
        given = Supervisor([], self.log, [], Watch(), self.said.append)._environment()
        libraries = [given["LD_PRELOAD"], str(self.programs / "kill_at.so")]
        return {**os.environ, **given, "LD_PRELOAD": " ".join(libraries if behind else libraries[::-1])}

    def calls(self, count: Path, behind: bool = True) -> int:
        """How many calls of libpmem a run to the end makes."""
        environment = {**self.environment(behind), "KILL_COUNT": str(count)}
        subprocess.run(self.command("work", STEPS), env=environment, check=True)
        return int(count.read_text())

    def kill(self, kill: Kill) -> int:
        """Run, and be killed: the exit status."""
        environment = {**self.environment(kill.behind), "KILL_AT": str(kill.call), "KILL_WHEN": kill.when}
        done = subprocess.run(self.command("work", STEPS), env=environment, capture_output=True, check=False)
        return done.returncode

    def finish(self) -> bool:
        """Go on to the end, as an operator would: a pool that was never made (False) is made anew."""
        supervisor = Supervisor(self.command("work", STEPS), self.log, [], Watch(), self.said.append)
        ending, _ = supervisor.run(0)
        was_made = ending.is_good
        if not was_made:
            assert ending.code == 9, (str(ending), self.said)
            self.pool.unlink()
            ending, _ = supervisor.run(0)
        assert ending.is_good, (str(ending), self.said)
        return was_made

    def session(self) -> Session:
        return Session(self.log, None, Restart(self.command("check"), self.pool.parent, 20), self.said.append)

    @property
    def history(self) -> History:
        return self._histories()[0]

    def _histories(self) -> list[History]:
        log = GuardLog(self.log)
        histories = [History(log, pool) for pool in log.pools.values()]
        return [history for history in histories if history.is_of_this_pool()]

    def differences(self) -> list[tuple[int, bytes]]:
        """Where the pool is not what the log says; none if there is no pool yet that could be compared."""
        histories = self._histories() if any(self.log.glob("*.segment")) else []
        return [difference for history in histories for difference in history.differences()]

    def remove(self) -> None:
        shutil.rmtree(self.log)
        shutil.rmtree(self.pool.parent)

    def ranges(self) -> dict[str, range]:
        """Where its data lie, by name."""
        copy = self.pool.with_name("copy")
        shutil.copyfile(self.pool, copy)
        command = [self.programs / "stepper", copy, "ranges"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        copy.unlink()
        words = (line.split() for line in said.splitlines())
        return {name: range(int(offset), int(offset) + int(size)) for name, offset, size in words}


class NormalForm:
    """What a log tells of a stepper's data: nothing in it depends on when, how often or in which pool it ran."""

    def __init__(self, stepper: Stepper) -> None:
        self._history = stepper.history
        self._log = self._history.log
        self._ranges = stepper.ranges()
        self._places: dict[tuple[int, int], str] = {}

    @cached_property
    def _names(self) -> dict[bytes, str]:
        """Words that are not the same in each run: where objects lie, and the number of the pool in their ids."""
        newest = self._ranges["root-0"].start + NEWEST
        found = {self._history.content(newest, newest + WORD): "pool", bytes(WORD): "0"}
        return found | {where.start.to_bytes(WORD, "little"): name for name, where in self._ranges.items()}

    @cached_property
    def words(self) -> dict[str, tuple[str, str]]:
        """Of each word its value and the line that wrote it."""
        found = {}
        for name, where in self._ranges.items():
            content = self._history.content(where.start, where.stop)
            authors = self._history.pieces.authors(where.start, where.stop).tolist()
            for at in range(0, len(where), WORD):
                found[f"{name}+{at}"] = (self._value(content[at : at + WORD]), self._line(authors[at]))
        return found

    @cached_property
    def values(self) -> dict[str, str]:
        """What each word holds."""
        return {name: value for name, (value, _) in self.words.items()}

    @cached_property
    def lines(self) -> dict[str, str]:
        """Who wrote each word."""
        return {name: line for name, (_, line) in self.words.items()}

    @cached_property
    def versions(self) -> dict[int, list[tuple[str, str]]]:
        """Of each word of the root all that it was, oldest first; where objects were is not always the same.

        What was written again as it was is told once, by whom it was written last.
        """
        where, pieces = self._ranges["root-0"], self._history.pieces
        content = pieces.at_first(where.start, where.stop)
        found = {at: [(self._value(content[at : at + WORD].tobytes()), BASE)] for at in range(0, len(where), WORD)}
        for piece in pieces.table[pieces.touching(where.start, where.stop)].tolist():
            pieces.lay(piece, content, where.start)
            for at in range(max(piece[1] - where.start, 0), min(piece[2] - where.start, len(where)), WORD):
                self._add_version(found[at], content[at : at + WORD].tobytes(), self._line(piece[0]))
        return found

    def _add_version(self, versions: list[tuple[str, str]], word: bytes, line: str) -> None:
        value = "an object" if int.from_bytes(word, "little") in HEAP else self._value(word)
        if line == "PMDK":  # before the word was part of an object
            versions.clear()
        elif versions and versions[-1][0] == value:
            versions.pop()
        versions.append((value, line))

    def _value(self, word: bytes) -> str:
        return self._names.get(word, word.hex())

    def _line(self, record: int) -> str:
        if record < 0:
            return BASE
        site = int(self._log.records["site"][record])
        if self._log.is_library[record]:
            return "PMDK"
        if not site:
            return UNKNOWN
        life = int((self._log.of_kind(RecordKind.START) < record).sum())
        if (life, site) not in self._places:
            self._places[life, site] = Path(place_calls(self._log, [site], before=record)[0]).name
        return self._places[life, site]


def differing(one: NormalForm, truth: NormalForm, kills: int = 1) -> dict[object, object]:
    """Where a run that was cut is told otherwise than one that was not.

    What a kill caught between a store and the log is in the pool and told, but the line is not known unless the service
    writes it again: a word, or an object's id, which `pmemobj_alloc` was about to set.
    """
    names = one.words.keys() | truth.words.keys()
    wrong: dict[object, object] = {name: (one.words.get(name), truth.words.get(name)) for name in names}
    wrong = {name: (told, true) for name, (told, true) in wrong.items() if told != true}
    caught = {name for name, (told, true) in wrong.items() if told and true and told == (true[0], UNKNOWN)}
    for at, true in truth.versions.items():
        known = _without_repeats([version for version in one.versions[at] if version[1] != UNKNOWN])
        found = {value for value, line in one.versions[at] if line == UNKNOWN}
        if [version for version in true if version in known] != known or {v for v, _ in set(true) - set(known)} - found:
            wrong[at] = (one.versions[at], true)
        elif set(true) - set(known):
            caught.add(f"root-0+{at}")
    return wrong if len(caught) > 2 * kills else {name: both for name, both in wrong.items() if name not in caught}


def _without_repeats(versions: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [version for at, version in enumerate(versions) if at == 0 or version != versions[at - 1]]


Line = tuple[str, int]
PlanForm = list[tuple[str, Line, list[tuple[Line, int]]]]


def plan_form(session: Session, plan: Plan) -> PlanForm:
    """The steps of a plan: why, which line, and which lines and how many bytes go with it."""

    def line(record: int) -> Line:
        frame = session.place(record)
        return (frame.function, frame.line) if frame else (UNKNOWN, 0)

    sizes = session.history.log.records["size"]
    return [
        (step.why, line(step.cause), sorted((line(record), int(sizes[record])) for record in step.records))
        for step in plan.steps
    ]


def same_steps(plan: PlanForm, truth: PlanForm) -> bool:
    """Whether two plans are the same; the lines of the words that a kill caught (`differing`) are not known."""
    caught = [at for at, (told, true) in enumerate(zip(plan, truth, strict=False)) if told != true]
    nameless = [(why, (UNKNOWN, 0), [((UNKNOWN, 0), size) for _, size in records]) for why, _, records in truth]
    return len(plan) == len(truth) and len(caught) <= 2 and all(plan[at] == nameless[at] for at in caught)
