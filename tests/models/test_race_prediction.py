"""Predicted pairs against all schedules of small programs: what some schedule shows is predicted from any run.

The twin tries every schedule of the threads' operations, keeps locks and signals, and knows of persistence only what
px86 says: a store is guaranteed by a flush of its line after it and a fence of the flushing thread after that.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from powercut.model.filesystem import file_systems
from powercut.model.memory import PX86
from powercut.race.prediction import predict
from powercut.states.timeline import Timeline
from powercut.trace.layout import FRAME, Fence, Flag, Flush, Kind, MemoryKind, Order, TableKind
from powercut.trace.writer import TraceWriter

POOL = 5
WORDS = (0, 0, 8)  # one mostly; both in one line
Op = tuple[str, int]  # what, and a word, a lock or a signal
Program = tuple[tuple[Op, ...], ...]
Place = tuple[int, int]  # a thread, and which of its operations
Schedule = tuple[Place, ...]


def random_thread(random: Random, locks: bool) -> list[Op]:
    ops: list[Op] = []
    for _ in range(random.randint(1, 4)):
        what = random.choice(("store", "store", "load", "load", "flush", "fence", "persist"))
        word = random.choice(WORDS)
        ops += [("store", word), ("flush", word), ("fence", 0)] if what == "persist" else [(what, word)]
    if locks and random.random() < 0.7:
        first = random.randint(0, len(ops))
        ops.insert(first, ("lock", 1))
        ops.insert(random.randint(first + 1, len(ops)), ("unlock", 1))
    return ops


def random_program(random: Random, *, locks: bool) -> Program:
    threads = [random_thread(random, locks)[:6] for _ in range(random.choice((2, 2, 3)))]
    for ops in threads:
        if ("lock", 1) in ops and ("unlock", 1) not in ops:
            ops.append(("unlock", 1))
    if random.random() < 0.5:
        for thread, what in ((0, "send"), (1, "receive")):
            inside = [i for i in range(len(threads[thread]) + 1) if not _locked(threads[thread], i)]
            threads[thread].insert(random.choice(inside), (what, 9))
    return tuple(tuple(ops) for ops in threads)


def _locked(ops: list[Op], position: int) -> bool:
    before = ops[:position]
    return ("lock", 1) in before and ("unlock", 1) not in before


def schedules(program: Program) -> Iterator[Schedule]:
    """Every schedule that runs to the end."""

    def go(at: tuple[int, ...], owner: int, sent: bool, past: Schedule) -> Iterator[Schedule]:
        if all(done == len(ops) for done, ops in zip(at, program, strict=True)):
            yield past
        for thread, ops in enumerate(program):
            if at[thread] == len(ops):
                continue
            what = ops[at[thread]][0]
            if (what == "lock" and owner >= 0) or (what == "receive" and not sent):
                continue
            holder = thread if what == "lock" else -1 if what == "unlock" else owner
            following = tuple(done + (i == thread) for i, done in enumerate(at))
            yield from go(following, holder, sent or what == "send", (*past, (thread, at[thread])))

    return go((0,) * len(program), -1, False, ())


def shown(program: Program, schedule: Schedule) -> Iterator[tuple[Place, Place]]:
    """Which loads saw another thread's store while it was not guaranteed."""
    for time, load in enumerate(schedule):
        if program[load[0]][load[1]][0] != "load":
            continue
        for before, store in enumerate(schedule[:time]):
            same_word = program[store[0]][store[1]] == ("store", program[load[0]][load[1]][1])
            if same_word and store[0] != load[0] and not guaranteed(program, schedule[before + 1 : time], store):
                yield store, load


def guaranteed(program: Program, since: Schedule, store: Place) -> bool:
    line = program[store[0]][store[1]][1] // 64
    flushed: set[int] = set()
    for thread, number in since:
        what, word = program[thread][number]
        if what == "flush" and word // 64 == line:
            flushed.add(thread)
        if what == "fence" and thread in flushed:
            return True
    return False


def traced(program: Program, schedule: Schedule) -> Timeline:
    """The trace of one schedule, each operation with a stack of its own."""
    writer = TraceWriter()
    writer.event(Kind.SNAP_DIR, inode=1, path=b"", extra=0o40755)
    writer.event(Kind.SNAP_FILE, inode=POOL, path=b"pool", length=4096, extra=0o100644)
    module = writer.entry(TableKind.MODULE, b"/program\0")
    for thread in range(len(program)):
        writer.event(Kind.FORK, flags=int(Flag.THREAD), extra=10 + thread, pid=1)
    writer.event(Kind.MMAP, inode=POOL, length=4096)
    records = [(POOL, 0, 0, 1, MemoryKind.FILE, 0), (0, 0, 0, 2, MemoryKind.FILE, 0)]
    for thread, number in schedule:
        frame = np.array([(1, module, 100 * thread + number + 1)], FRAME)
        stack = writer.entry(TableKind.STACK, frame.tobytes())
        records += [(10 + thread, 0, 0, 0, MemoryKind.THREAD, 0), record_of(program[thread][number], stack)]
    writer.memory(records)
    return Timeline(writer.trace(), file_systems("ext4-ordered", PX86.name)[0])


def record_of(op: Op, stack: int) -> tuple[int, int, int, int, int, int]:
    what, which = op
    orders = {"lock": Order.LOCK, "unlock": Order.UNLOCK, "send": Order.SEND, "receive": Order.RECEIVE}
    if what in orders:
        return (which, 0, stack, 2, MemoryKind.ORDER, orders[what])
    if what == "fence":
        return (0, 0, stack, 0, MemoryKind.FENCE, Fence.SFENCE)
    if what == "flush":
        return (0, which, stack, 1, MemoryKind.FLUSH, Flush.CLWB)
    return (7, which, stack, 1, MemoryKind.STORE if what == "store" else MemoryKind.LOAD, 8)


def predicted(program: Program, schedule: Schedule) -> dict[tuple[Place, Place], bool]:
    """Pairs of operations, and whether the run is said to have shown them."""

    def place(site: tuple[int, int]) -> Place:
        return (site[1] - 1) // 100, (site[1] - 1) % 100

    pairs = predict(traced(program, schedule))
    return {(place(pair.store_site), place(pair.load_site)): pair.shown for pair in pairs}


def programs(count: int, *, locks: bool) -> Iterator[tuple[Program, list[Schedule], Random]]:
    random = Random(7)
    while count:
        program = random_program(random, locks=locks)
        if sum(map(len, program)) <= 10 and (every := list(schedules(program))):
            count -= 1
            yield program, every, random


@pytest.mark.parametrize("locks", [False, True])
def test_what_some_schedule_shows_is_predicted_from_any_run(locks: bool) -> None:
    real = 0
    for program, every, random in programs(300, locks=locks):
        possible = {pair for schedule in every for pair in shown(program, schedule)}
        found = predicted(program, random.choice(every))
        real += len(possible)
        assert possible <= found.keys(), program
    assert real > 100


def test_without_locks_and_flushes_for_others_nothing_else_is_predicted() -> None:
    exact = 0
    for program, every, random in programs(400, locks=False):
        if flushes_for_others(program):
            continue
        possible = {pair for schedule in every for pair in shown(program, schedule)}
        assert predicted(program, random.choice(every)).keys() == possible, program
        exact += len(possible)
    assert exact > 50


def flushes_for_others(program: Program) -> bool:
    """Whether some thread flushes a line that another one stores to."""
    return any(
        what == "flush"
        and word // 64 in {w // 64 for other in program if other is not ops for o, w in other if o == "store"}
        for ops in program
        for what, word in ops
    )


def test_a_run_that_shows_a_pair_says_so() -> None:
    for program, every, random in programs(200, locks=True):
        schedule = random.choice(every)
        said = {pair for pair, in_this_run in predicted(program, schedule).items() if in_this_run}
        assert set(shown(program, schedule)) <= said


@pytest.mark.parametrize("early", [True, False])
def test_a_lock_protects_only_if_it_is_kept_until_the_fence(early: bool) -> None:
    writer = [("lock", 1), ("store", 0), ("flush", 0), ("fence", 0)]
    writer.insert(2 if early else 4, ("unlock", 1))
    reader = [("lock", 1), ("load", 0), ("unlock", 1)]
    program = (tuple(writer), tuple(reader))
    one_by_one = tuple((thread, i) for thread, ops in enumerate(program) for i in range(len(ops)))
    assert bool(predicted(program, one_by_one)) == early
