"""The rig: records a workload on a real file system, cuts the power in many ways, and asks the model about each state.

Before: a `Bench` of one file system. After `examine`: each state that was left is possible in the row, at every moment
at which that cut could have come; or it is an `Outsider`. A cut leaves all writes that a flush covered, and any of
those behind the last flush.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from powercut.model.filesystem import FileSystem
from tests.kernel.calls import Story, is_background
from tests.kernel.disks import FLUSH, MARK, WRITE, Bench, Entry
from tests.kernel.model import Image, Model, read_folder
from tests.kernel.performer import Performer

SECTOR = 512
SLOWEST = 3000  # microseconds that a write may take where writes overtake each other


@dataclass(frozen=True, slots=True)
class Plan:
    """A workload and how it is run.

    Attributes:
        lines: its calls.
        hold: files stay open to the end.
        slow: writes take their time, and overtake each other.
        seed: of the cuts.
    """

    lines: tuple[str, ...]
    hold: bool = False
    slow: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outsider:
    """A state that a kernel left and the row forbids.

    Attributes:
        line: the call that was made last.
        returned: whether it had returned.
    """

    image: Image
    line: int
    returned: bool


@dataclass(slots=True)
class Examined:
    """What came of a workload."""

    images: int = 0
    pairs: int = 0  # distinct (moment, state)
    undecided: int = 0
    outsiders: list[Outsider] = field(default_factory=list)
    seen: list[tuple[int, bool, Image]] = field(default_factory=list)


def record(bench: Bench, plan: Plan) -> tuple[list[Entry], Story]:
    """Run a workload; its log and its story. Marks are 2 x line, and 1 more once it returned."""
    story = Story()

    def work(folder: Path, mark) -> None:
        performer = Performer(folder, bench.elsewhere, hold=plan.hold)
        try:
            for number, line in enumerate(plan.lines):
                story.tell(number, line)
                mark(2 * number)
                performer.perform(number, line)
                mark(2 * number + 1)
        finally:
            performer.close()

    return bench.record(work, SLOWEST if plan.slow else 0), story


@dataclass(frozen=True, slots=True)
class Cut:
    """Which writes survive: all before `durable` (a position in the log), and the chosen ones."""

    durable: int
    chosen: tuple[int, ...]
    moments: frozenset[int]  # marks: the last one set before the cut, for every cut that may leave this


def cuts(log: list[Entry], most: int, rnd: random.Random) -> Iterator[Cut]:
    """Ways to cut the power: at every flush, and with some of what came behind it."""
    started = next((i for i, entry in enumerate(log) if entry.kind == MARK), len(log))
    flushes = [i for i, entry in enumerate(log) if entry.kind == FLUSH and i >= started] + [len(log)]
    before = max((i for i, entry in enumerate(log[:started]) if entry.kind == FLUSH), default=0)
    wanted: list[tuple[int, tuple[int, ...], int]] = []
    more: list[tuple[int, tuple[int, ...], int]] = []
    for end in flushes:
        writes = [i for i in range(before, end) if log[i].kind == WRITE]
        wanted += [(before, (), end), (before, tuple(writes), end)]
        more += [(before, chosen, end) for chosen in _choices(writes, rnd)]
        before = end
    rnd.shuffle(more)
    done = set()
    for durable, chosen, end in [*wanted, *more]:
        if (durable, chosen) not in done and len(done) < most:
            done.add((durable, chosen))
            yield Cut(durable, chosen, _moments(log, max([durable, started, *chosen]), end))


def _choices(writes: list[int], rnd: random.Random) -> list[tuple[int, ...]]:
    prefixes = [tuple(writes[:n]) for n in range(1, len(writes))]
    alone = [(write,) for write in writes]
    missing = [tuple(w for w in writes if w != write) for write in writes]
    some = [tuple(w for w in writes if rnd.random() < 0.5) for _ in range(min(8, len(writes)))]
    return [*prefixes, *alone, *missing, *some]


def _moments(log: list[Entry], first: int, last: int) -> frozenset[int]:
    """The marks that were the last one at some position between two."""
    latest, found = None, set()
    for position, entry in enumerate(log[: last + 1]):
        if entry.kind == MARK and position < last:
            latest = entry.where
        if position >= first and latest is not None:
            found.add(latest)
    return frozenset(found)


def examine(bench: Bench, plan: Plan, row: FileSystem, most: int = 40, sectors: bool = False) -> Examined:
    """Record a workload, cut the power, and ask the model."""
    log, story = record(bench, plan)
    model, result, rnd = Model(story, row), Examined(), random.Random(plan.seed)
    known: set[tuple[int, bool, Image]] = set()
    for cut in cuts(log, most, rnd):
        writes = survivors(log, cut)
        if sectors and cut.chosen:
            writes = _torn(writes, len(cut.chosen), rnd)
        image = bench.look(writes, read_folder)
        result.images += 1
        for mark in cut.moments:
            line, returned = last_call(plan.lines, mark)
            if (line, returned, image) in known:
                continue
            known.add((line, returned, image))
            result.pairs += 1
            answer = model.possible(image, moment(story, line, returned))
            result.undecided += answer is None
            if answer is False:
                result.outsiders.append(Outsider(image, line, returned))
    result.seen = sorted(known, key=lambda seen: seen[:2])
    return result


def survivors(log: list[Entry], cut: Cut) -> list[tuple[int, bytes]]:
    """The writes that a cut leaves, in order."""
    left = (i for i, e in enumerate(log) if e.kind == WRITE and (i < cut.durable or i in cut.chosen))
    return [(log[i].where, log[i].data) for i in left]


def _torn(writes: list[tuple[int, bytes]], last: int, rnd: random.Random) -> list[tuple[int, bytes]]:
    """Some sectors of the last writes are lost."""
    kept = writes[: len(writes) - last]
    for offset, data in writes[len(writes) - last :]:
        for at in range(0, len(data), SECTOR):
            if rnd.random() < 0.7:
                kept.append((offset + at, data[at : at + SECTOR]))
    return kept


def last_call(lines: tuple[str, ...], mark: int) -> tuple[int, bool]:
    """The call that a mark is about, and whether it had returned; -1 before the first. What is behind is no call."""
    line, returned = mark // 2, mark % 2 == 1
    while line >= 0 and is_background(lines[line]):
        line, returned = line - 1, True
    return line, returned


def moment(story: Story, line: int, returned: bool) -> int:
    """The time of powercut's model."""
    if line < 0:
        return 2 * min(story.events.values(), default=0) - 1
    return 2 * story.events[line] + returned
