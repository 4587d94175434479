"""The maps of corpus/assertions with many mistakes at once, and which of them a failing state shows.

A state of the run with all mistakes shows one of them if it still fails when all others are fixed: the state is carried
over to the run with that mistake alone. Stores are told apart by the operation that makes them, their call stack, and
how often that had come by in the operation; a store that only one of both runs makes is there if it was issued.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from hunt import Known
from judge import Judge, Place
from kit import Broken

from powercut.assertions.build import include_folder
from powercut.native_programs import why_no_memory_tool
from powercut.search.verdict_cache import Key
from powercut.states.state import State
from powercut.states.strategies import joint_queue
from powercut.states.strategy_order import STRATEGY_NAMES
from powercut.states.timeline import Timeline
from powercut.trace.layout import TableKind

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus" / "assertions"))

from assertion_cases import SOURCE

POOL = 2 << 20  # bytes
OPERATIONS, KEYS, VALUE = 120, 48, 128
_FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O2", "-DATOMIC_BUCKETS=32", "-DSKIPPABLE")

Label = tuple[int, bytes, int, int]  # operation, call stack, how often in that operation, piece of the store


@dataclass(frozen=True, slots=True)
class Seeded:
    """A map, with mistakes that can be made in one run."""

    program: Path
    map: str
    bugs: tuple[str, ...]

    def known(self, folder: Path, bugs: Sequence[str]) -> Known:
        """The map with some of its mistakes, ready to be recorded."""
        data = folder / "data"
        data.mkdir(parents=True)
        with (data / "pool").open("wb") as pool:
            pool.truncate(POOL)
        made = [part for bug in bugs for part in ("--skip", bug)]
        sizes = ["--pool-size", str(POOL), "--operations", str(OPERATIONS), "--keys", str(KEYS), "--size", str(VALUE)]
        command = [str(self.program), self.map, *sizes]
        workload = [*command, "--tell", "--pool", str(data / "pool"), *made]
        check = shlex.join([*command, "--judge", "--pool", "pool"])
        return Known(self.map, ", ".join(bugs), data, workload, check, {"tracer": "memory"})


class Carried:
    """Carries states of one run over to another one that does nearly the same."""

    def __init__(self, here: Timeline, there: Timeline) -> None:
        self._here, self._there = here, there
        self._labels, self._others = labels(here), labels(there)
        self._number = {label: update for update, label in enumerate(self._labels)}
        known = {label: update for update, label in enumerate(self._others)}
        self._same = [known.get(label, -1) for label in self._labels]

    def state(self, state: State) -> State:
        """The state of the other run that comes next to one: it lost the same, at the same moment."""
        here, there = self._here, self._there
        issued = here.issued(state.point)
        last = max((self._same[update] for update in range(max(0, issued - 200), issued)), default=-1)
        said = bisect_right(here.prints, state.point)
        floor = there.prints[said - 1] if said else 0
        limit = there.prints[said] - 1 if said < len(there.prints) else there.end
        point = min(max(floor, 2 * there.updates.event[last] if last >= 0 else 0), limit)
        lost = [u for u in there.pending(point) if not self._survives(state, u)]
        return there.without(lost, point)

    def _survives(self, state: State, update: int) -> bool:
        number = self._number.get(self._others[update])
        return number is None or self._here.survives(state, number)


def labels(timeline: Timeline) -> list[Label]:
    """What tells each update from the others, in any run of the program."""
    trace, made = timeline.trace, Counter[tuple[int, bytes]]()
    stacks = trace.at("stack", timeline.event.astype(np.int64)).tolist()
    names = {stack: trace.entry(TableKind.STACK, stack) if stack else b"" for stack in set(stacks)}
    found: list[Label] = []
    last, piece = -1, 0
    for event, stack in zip(timeline.updates.event, stacks, strict=True):
        key = bisect_right(timeline.prints, 2 * event), names[stack]
        piece = piece + 1 if event == last else 0
        made[key] += piece == 0
        found.append((*key, made[key], piece))
        last = event
    return found


MAPS = {
    "hashmap-tx": ("hashmap_tx.c", "item.c"),
    "hashmap-atomic": ("hashmap_atomic.c",),
    "ctree": ("ctree.c", "item.c"),
    "btree": ("btree.c", "item.c"),
    "rbtree": ("rbtree.c", "item.c"),
}
_EACH = ("prefixes", "one-missing", "one-early")
_TRIED = 300  # states of each strategy, until a line counts as one that is not needed
_SKIPPABLE = re.compile(r"\b(TX_(STORE|FILL|MOVE|ZERO|OWN|ADD)|FLUSH|FENCE|PERSIST)\(")


def places(source: str) -> Iterator[str]:
    """The lines of a source that can be skipped."""
    for number, line in enumerate((SOURCE / source).read_text().splitlines(), 1):
        if _SKIPPABLE.search(line):
            yield f"{source}:{number}"


def build_seeded(folder: Path, name: str) -> Seeded:
    """A map, built, with all that can be skipped in it."""
    if why := why_no_memory_tool():
        raise Broken(why)
    program = folder / "maps"
    command = ["gcc", *_FLAGS, f"-I{include_folder()}", "-o", str(program)]
    subprocess.run([*command, *sorted(map(str, SOURCE.glob("*.c")))], check=True)
    return Seeded(program, name, tuple(place for source in MAPS[name] for place in places(source)))


class Several:
    """A run with many mistakes at once, and a run with each of them alone."""

    def __init__(self, seeded: Seeded, folder: Path) -> None:
        self._alone = {bug: alone for bug in seeded.bugs if (alone := _alone(seeded, folder, bug)) is not None}
        self.bugs = tuple(self._alone)
        self.known = seeded.known(folder / "all", self.bugs)
        self.trace = self.known.record()
        self.judge = Judge(self.known, self.trace)
        here = self.judge.first()
        self._carried = {bug: Carried(here, judge.first()) for bug, judge in self._alone.items()}
        self._shown: dict[Key, dict[str, bool]] = {}

    def shows(self, place: Place, bug: str) -> bool:
        """Whether a failing state shows a mistake: whether it fails with that mistake alone."""
        known = self._shown.setdefault(self.judge.key(*place), {})
        if bug not in known:
            judge = self._alone[bug]
            known[bug] = not judge.accepts([(next(iter(judge.searched)), self._carried[bug].state(place[1]))])[0]
        return known[bug]

    def close(self) -> None:
        """End all that judges."""
        for judge in (self.judge, *self._alone.values()):
            judge.close()


def _alone(seeded: Seeded, folder: Path, bug: str) -> Judge | None:
    """What judges the run with one mistake; None where few states, of any order, show that it is one."""
    known = seeded.known(folder / bug.replace(":", "-"), [bug])
    judge = Judge(known, known.record(), workers=1)
    queues = [joint_queue(judge.searched, 0, names) for names in (STRATEGY_NAMES, *([name] for name in _EACH))]
    states = ((number, state) for queue in queues for number, _, state in islice(queue, _TRIED))
    while some := list(islice(states, 50)):
        if not all(judge.accepts(some)):
            return judge
    judge.close()
    return None
