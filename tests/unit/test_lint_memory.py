"""The memory patterns of the engine are those of the naive twin, on random traces; and each one by example."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from powercut.errors import UsageError
from powercut.lint.memory_pass import SITE, MemoryPass, Seen, walk
from powercut.model.memory import AUTO, EADR
from powercut.trace.layout import FRAME, Fence, Flag, Flush, Kind, MemoryKind, TableKind
from powercut.trace.writer import TraceWriter
from tests.unit.lint_twin import Twin

INODES = {1: 501, 2: 502}
STACKS = 10
FAR = 4096  # a line in the second page
KINDS = {
    "plain": MemoryKind.STORE,
    "nontemporal": MemoryKind.STORE_NONTEMPORAL,
    "locked": MemoryKind.STORE_LOCKED,
    "kernel": MemoryKind.STORE_KERNEL,
}
NAMES = {
    Seen.UNFLUSHED: "unflushed",
    Seen.UNFENCED: "unfenced",
    Seen.TRANSIENT: "transient",
    Seen.OVERWRITE: "overwrite",
    Seen.FLUSH_CLEAN: "flush-clean",
    Seen.FLUSH_AGAIN: "flush-again",
    Seen.FLUSH_BYPASSED: "flush-bypassed",
    Seen.FLUSH_EADR: "flush-eadr",
    Seen.FLUSH_SEVERAL: "flush-several",
    Seen.FENCE_IDLE: "fence-idle",
    Seen.FENCE_SEVERAL: "fence-several",
}

threads = st.integers(1, 4)
files = st.sampled_from(sorted(INODES))
stacks = st.integers(1, STACKS)
lines = st.sampled_from([0, 64, FAR])
places = st.tuples(lines, st.integers(0, 1), st.integers(0, 7), st.integers(1, 8)).map(
    lambda p: (p[0] + 8 * p[1] + p[2], min(p[3], 8 - p[2]))
)
stores = st.tuples(
    st.just("store"),
    threads,
    files,
    places,
    st.sampled_from([*KINDS, "plain", "plain", "plain"]),
    st.sampled_from([0, 1, 2, 0x0102030405060708]),
    stacks,
    st.booleans(),
)
flushes = st.tuples(st.just("flush"), threads, files, lines, st.sampled_from(["clwb", "clflushopt", "clflush"]), stacks)
fences = st.tuples(st.just("fence"), threads, st.sampled_from(["sfence", "mfence", "locked"]), stacks)
calls = st.one_of(
    st.tuples(st.just("fsync"), files, stacks),
    st.tuples(st.just("msync"), files, st.sampled_from([(0, 64), (0, 8192), (4096, 1)]), stacks),
    st.tuples(st.just("write"), files, st.sampled_from([(0, 10), (64, 64), (4000, 200)]), stacks, st.booleans()),
    st.tuples(st.just("sync"), stacks),
    st.tuples(st.just("truncate"), files),
    st.tuples(st.just("recreate"), files),
)
operations = st.lists(st.one_of(stores, flushes, fences, calls), max_size=40)


def new_writer() -> TraceWriter:
    writer = TraceWriter()
    writer.meta("tracer", b"grind 1")
    for number in range(STACKS):
        writer.entry(TableKind.STACK, np.array([(1, 0, number)], FRAME).tobytes())
    writer.event(Kind.SNAP_DIR, path=b"", inode=1, extra=0o40755)
    for inode in INODES.values():
        writer.event(Kind.SNAP_FILE, path=b"pool-%d" % inode, inode=inode, length=8192, extra=0o100644)
        writer.event(Kind.MMAP, inode=inode, length=8192)
    return writer


def record(operation: tuple) -> tuple[int, int, int, int, int, int]:
    what, _, *rest = operation
    if what == "store":
        file, (offset, size), kind, value, stack, is_rest = rest
        return (value, offset, stack, file, KINDS[kind] | (MemoryKind.REST if is_rest else 0), size)
    if what == "flush":
        file, offset, how, stack = rest
        return (0, offset + 5, stack, file, MemoryKind.FLUSH, Flush[how.upper()])
    how, stack = rest
    return (0, 0, stack, 0, MemoryKind.FENCE, Fence[how.upper()])


def write_call(writer: TraceWriter, operation: tuple) -> None:
    what, *rest = operation
    if what == "sync":
        writer.event(Kind.SYNC, stack=rest[0])
    elif what == "fsync":
        writer.event(Kind.FSYNC, inode=INODES[rest[0]], stack=rest[1])
    elif what == "msync":
        writer.event(Kind.MSYNC, inode=INODES[rest[0]], offset=rest[1][0], length=rest[1][1], extra=4, stack=rest[2])
    elif what == "write":
        file, (offset, length), stack, synced = rest
        flags = Flag.DSYNC if synced else 0
        writer.event(Kind.WRITE, inode=INODES[file], offset=offset, data=b"x" * length, stack=stack, flags=flags)
    elif what == "truncate":
        writer.event(Kind.TRUNCATE, inode=INODES[rest[0]], length=0, extra=8192)
    else:
        name = b"pool-%d" % INODES[rest[0]]
        writer.event(Kind.UNLINK, inode=INODES[rest[0]], path=name)
        writer.event(Kind.CREATE, inode=INODES[rest[0]], path=name, extra=0o100644)


def passed(operations: list[tuple], internal: set[int], eadr: bool) -> MemoryPass:
    """What the engine finds; records of a thread change go into one run, as a tracer writes them."""
    writer, run, announced = new_writer(), [], False
    for operation in [*operations, None]:
        if operation is not None and operation[0] in ("store", "flush", "fence"):
            if not announced:
                run += [(inode, 0, 0, file, MemoryKind.FILE, 0) for file, inode in INODES.items()]
                announced = True
            run += [(operation[1], 0, 0, 0, MemoryKind.THREAD, 0), record(operation)]
            continue
        if run:
            writer.memory(run)
            run = []
        if operation is not None:
            write_call(writer, operation)
    flags = bytes(number in internal for number in range(STACKS + 1))
    return walk(writer.trace(), EADR if eadr else AUTO, flags)


def twin_of(operations: list[tuple], internal: set[int], eadr: bool) -> tuple[Twin, int]:
    twin, useful = Twin(internal, eadr), 0
    current = dict(zip(INODES, INODES, strict=True))  # file number -> which file it is by now
    for what, *rest in operations:
        if what == "store":
            tid, file, (offset, size), kind, value, stack, is_rest = rest
            twin.store(tid, current[file], offset, size, kind, value, stack, is_rest)
        elif what == "flush":
            tid, file, offset, how, stack = rest
            twin.flush(tid, current[file], offset, how, stack)
        elif what == "fence":
            twin.fence(*rest)
        elif what == "fsync":
            useful += twin.sync(current[rest[0]], 0, 1 << 60, rest[1])
        elif what == "sync":
            useful += sum(twin.sync(file, 0, 1 << 60, rest[0]) for file in current.values()) > 0
        elif what == "msync":
            low, high = rest[1][0] // 4096 * 4096, -(-sum(rest[1]) // 4096) * 4096
            useful += twin.sync(current[rest[0]], low, high, rest[2])
        elif what == "write":
            file, (offset, length), stack, synced = rest
            twin.write(current[file], offset, length)
            useful += synced and twin.sync(current[file], 0, 1 << 60, stack)
        else:
            twin.forget(current[rest[0]])
            if what == "recreate":
                current[rest[0]] = max(current.values()) + 1
    twin.end()
    return twin, useful


def counted(found: MemoryPass) -> Counter[tuple[str, int, int, int]]:
    keys = ("file", "stack", "other")
    return Counter(
        {(NAMES[Seen(int(s["pattern"]))], *(int(s[key]) for key in keys)): int(s["count"]) for s in found.sites}
    )


@settings(max_examples=300)
@given(operations, st.sets(stacks, max_size=3), st.sampled_from([False, False, False, True]))
@example(
    [("store", 1, 1, (0, 8), "plain", 1, 1, False), ("store", 1, 1, (0, 8), "nontemporal", 1, 2, False)], set(), False
)
@example([("store", t, 1, (0, 8), "nontemporal", 1, t, False) for t in (1, 2, 3, 4)], set(), False)
@example([*(("flush", t, 1, 0, "clwb", t) for t in (1, 2, 3, 4)), ("fence", 3, "sfence", 9)], set(), False)
def test_engine_and_twin_agree(operations: list[tuple], internal: set[int], eadr: bool) -> None:
    found = passed(operations, internal, eadr)
    twin, useful = twin_of(operations, internal, eadr)
    assert counted(found) == +twin.found
    assert len(found.useful) == useful


WHAT = ["store", "flush", "fence", "fsync", "msync", "write", "recreate"]


def busy(random: Random) -> list[tuple]:
    """A trace in which things meet: few lines, mostly one thread, mostly stores, flushes and fences in turn."""
    found: list[tuple] = []
    for _ in range(random.randrange(5, 60)):
        tid, file, stack = random.choice([1, 1, 1, 2, 3]), random.choice([1, 1, 1, 2]), random.randrange(1, STACKS + 1)
        line = random.choice([0, 0, 64, FAR])
        what = random.choices(WHAT, [50, 25, 15, 3, 3, 2, 1])
        if what == ["store"]:
            inside = random.randrange(8)
            place = (line + random.choice([0, 8]) + inside, random.randrange(1, 9 - inside))
            kind = random.choice(["plain", "plain", "plain", "kernel", "locked", "nontemporal"])
            value = random.choice([0, 0x0202020202020202, random.getrandbits(64)])
            found.append(("store", tid, file, place, kind, value, stack, random.random() < 0.3))
        elif what == ["flush"]:
            found.append(("flush", tid, file, line, random.choice(["clwb", "clwb", "clflushopt", "clflush"]), stack))
        elif what == ["fence"]:
            found.append(("fence", tid, random.choice(["sfence", "sfence", "mfence", "locked"]), stack))
        elif what == ["fsync"]:
            found.append(("fsync", file, stack))
        elif what == ["msync"]:
            found.append(("msync", file, random.choice([(0, 64), (4096, 1)]), stack))
        elif what == ["write"]:
            found.append(("write", file, (0, 100), stack, random.random() < 0.5))
        else:
            found.append(("recreate", file))
    return found


@pytest.mark.parametrize("hundred", range(20))
def test_engine_and_twin_agree_on_busy_traces(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        random = Random(seed)
        operations, eadr = busy(random), seed % 5 == 0
        internal = set(random.sample(range(1, STACKS + 1), random.choice([0, 0, 3])))
        found, (twin, useful) = passed(operations, internal, eadr), twin_of(operations, internal, eadr)
        assert counted(found) == +twin.found, seed
        assert len(found.useful) == useful, seed


def test_busy_traces_show_every_pattern() -> None:
    """Otherwise the test above compares nothing with nothing."""
    shown: Counter[str] = Counter()
    for seed in range(300):
        operations = busy(Random(seed))
        shown.update(pattern for pattern, *_ in counted(passed(operations, set(), seed % 5 == 0)))
    assert min(shown[name] for name in NAMES.values()) >= 10, shown


def test_numbers_are_those_of_the_header() -> None:
    header = (Path(__file__).parents[2] / "native" / "engine" / "lint" / "lint.h").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"LINT_([A-Z_]+) = (\d+),", header)}
    assert numbers == {seen.name: seen.value for seen in Seen}
    assert SITE.itemsize == 40


def store(offset: int = 0, stack: int = 1, kind: str = "plain", *, size: int = 8, value: int = 7) -> tuple:
    return ("store", 1, 1, (offset, size), kind, value, stack, False)


def flush(offset: int = 0, stack: int = 2, how: str = "clwb", *, tid: int = 1) -> tuple:
    return ("flush", tid, 1, offset, how, stack)


def fence(stack: int = 3, how: str = "sfence", *, tid: int = 1) -> tuple:
    return ("fence", tid, how, stack)


PERSISTED = [store(), flush(), fence()]
EXAMPLES: dict[str, tuple[list[tuple], dict[tuple[str, int], int]]] = {
    "persisted": (PERSISTED, {}),
    "never flushed": ([store()], {("transient", 1): 1}),
    "flushed before only": ([*PERSISTED, store(8)], {("unflushed", 1): 1}),
    "never fenced": ([store(), flush()], {("unfenced", 1): 1}),
    "fenced by another thread": ([store(), flush(), fence(tid=2)], {("unfenced", 1): 1, ("fence-idle", 3): 1}),
    "clflush needs no fence": ([store(), flush(how="clflush")], {}),
    "non-temporal, never fenced": ([store(kind="nontemporal")], {("unfenced", 1): 1}),
    "non-temporal and fenced": ([store(kind="nontemporal"), fence()], {}),
    "non-temporal, then flushed": ([store(kind="nontemporal"), flush(), fence()], {("flush-bypassed", 2): 1}),
    "stored behind the flush": ([store(), flush(), store(8, 4), fence()], {("unflushed", 4): 1}),
    "one word, two stores": ([store(size=4), store(4, 4, size=4)], {("transient", 1): 1, ("transient", 4): 1}),
    "overwritten": (
        [store(), store(stack=4, value=8), flush(), fence()],
        {("overwrite", 4): 1, ("flush-several", 2): 1},
    ),
    "the same value again": ([store(), store(stack=4), flush(), fence()], {("flush-several", 2): 1}),
    "overwritten, never flushed": ([store(), store(stack=4, value=8)], {("transient", 4): 1}),
    "cleared, then filled": ([store(value=0), store(stack=4), flush(), fence()], {("flush-several", 2): 1}),
    "a lock": (
        [store(), store(stack=4, kind="locked", value=8), store(stack=5), flush(), fence()],
        {("flush-several", 2): 1},
    ),
    "flushed twice": ([*PERSISTED, flush(stack=4), fence()], {("flush-again", 4): 1}),
    "flushed twice before the fence": ([store(), flush(), flush(stack=4), fence()], {("flush-again", 4): 1}),
    "flushed by two threads": ([store(), flush(tid=1), flush(tid=2, stack=4), fence(tid=2), fence(tid=1)], {}),
    "flushed, never stored": ([flush()], {("flush-clean", 2): 1}),
    "flushed after a write": ([("write", 1, (0, 10), 5, False), flush()], {}),
    "several stores": ([store(), store(8, 4), flush(), fence()], {("flush-several", 2): 1}),
    "fence twice": ([*PERSISTED, fence(4)], {("fence-idle", 4): 1}),
    "a lock is no idle fence": ([*PERSISTED, fence(4, "locked")], {}),
    "a lock does not make the next fence idle": ([store(), flush(), fence(4, "locked"), fence()], {}),
    "several lines": (
        [store(), store(64, 4), flush(), flush(64, 5), fence()],
        {("fence-several", 3): 1},
    ),
    "fsync persists": ([store(), ("fsync", 1, 5)], {}),
    "msync of another page does not": ([store(), ("msync", 1, (4096, 1), 5)], {("transient", 1): 1}),
    "flush after msync": ([store(), ("msync", 1, (0, 64), 5), flush()], {("flush-again", 2): 1}),
    "a file that is gone": ([store(), ("recreate", 1)], {}),
}


def by_stack(operations: list[tuple], eadr: bool) -> dict[tuple[str, int], int]:
    sites = counted(passed(operations, set(), eadr))
    return {(pattern, stack): count for (pattern, _, stack, _), count in sites.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_pattern(name: str) -> None:
    operations, wanted = EXAMPLES[name]
    assert by_stack(operations, False) == wanted


EADR_EXAMPLES = {
    "a store is persistent at once": ([store()], {}),
    "a non-temporal one is not": ([store(kind="nontemporal")], {("unfenced", 1): 1}),
    "flushes are not needed": (PERSISTED, {("flush-eadr", 2): 1}),
    "fences order stores": ([store(), fence()], {}),
    "idle fence": ([store(), fence(), flush(), fence(4)], {("flush-eadr", 2): 1, ("fence-idle", 4): 1}),
    "overwriting is fine": ([store(), store(stack=4)], {}),
}


@pytest.mark.parametrize("name", EADR_EXAMPLES)
def test_pattern_where_caches_survive(name: str) -> None:
    operations, wanted = EADR_EXAMPLES[name]
    assert by_stack(operations, True) == wanted


def test_a_library_is_not_blamed_for_what_it_does() -> None:
    """Stack 2 flushes inside a library: neither its flush, nor the stores that its commit writes back, are at fault."""
    operations = [store(), store(stack=4, value=8), flush(), fence(), flush(), fence(2)]
    assert counted(passed(operations, {2}, False)) == {}
    assert counted(passed(operations, set(), False)) != {}


def test_examples_name_the_other_side() -> None:
    (site,) = passed([*PERSISTED, flush(stack=4), fence(5)], set(), False).sites
    assert (site["stack"], site["first"]) == (4, 2)
    (site,) = passed([store(), store(8, 4), store(16, 5), flush(), fence()], set(), False).sites
    assert (site["first"], site["last"], site["most"]) == (1, 5, 3)


def test_words_of_one_instruction_are_one_store() -> None:
    rest = ("store", 1, 1, (8, 8), "plain", 7, 1, True)
    assert counted(passed([store(), rest, flush(), fence()], set(), False)) == {}


def test_a_thread_number_that_comes_again_is_another_thread() -> None:
    writer = new_writer()
    names = [(501, 0, 0, 1, MemoryKind.FILE, 0)]
    writer.memory([(9, 0, 0, 0, MemoryKind.THREAD, 0), *names, record(store()), record(flush())])
    writer.event(Kind.FORK, extra=9, flags=Flag.THREAD)
    writer.memory([(9, 0, 0, 0, MemoryKind.THREAD, 0), record(fence())])
    found = counted(walk(writer.trace(), AUTO, bytes(STACKS + 1)))
    assert found == {("unfenced", 1, 1, 0): 1, ("fence-idle", 0, 3, 0): 1}


BROKEN = {
    "a file that was never named": (1, 0, 0, 9, MemoryKind.STORE, 8),
    "larger than a word": (1, 4, 0, 1, MemoryKind.STORE, 8),
    "none that a tracer writes": (1, 0, 0, 1, 77, 8),
    "a stack that is not there": (1, 0, 4_000_000_000, 1, MemoryKind.STORE, 8),
    "behind the end of any file": (1, 1 << 60, 0, 1, MemoryKind.STORE, 8),
}


@pytest.mark.parametrize("why", BROKEN)
def test_impossible_records_end_the_pass(why: str) -> None:
    writer = new_writer()
    writer.memory([(501, 0, 0, 1, MemoryKind.FILE, 0), BROKEN[why]])
    writer.meta("exit", b"exited 0")
    from powercut.trace.reader import Trace

    trace = Trace(writer.to_bytes(), "bad", opened=False)
    with pytest.raises(UsageError, match=why):
        walk(trace, AUTO, bytes(STACKS + 1))


def test_a_thread_that_never_fences_is_followed_in_little_memory() -> None:
    """Lines persist by clflush or another thread, thousands of times; what is left is still known."""
    step = [store(), flush(), flush(how="clflush", stack=4)]
    operations = [*step * 3000, store(64, 5), flush(64, 6), store(FAR, 7), flush(FAR, 8), fence()]
    found = by_stack(operations, False)
    assert found == {("flush-again", 4): 3000, ("fence-several", 3): 1}


def test_many_lines_and_files_are_told_apart() -> None:
    """The table of lines grows many times; nothing is lost or mixed up."""
    count = 50_000
    rng = np.random.default_rng(1)
    offsets = rng.permutation(count) * 64 * 3
    writer = new_writer()
    records = np.zeros(count, [("v", "<u8"), ("o", "<u8"), ("s", "<u4"), ("f", "<u2"), ("k", "<u1"), ("z", "<u1")])
    records["v"], records["o"], records["k"], records["z"] = 1, offsets, MemoryKind.STORE, 8
    records["f"], records["s"] = 1 + offsets % 2, 1 + offsets // 64 % STACKS
    names = [(inode, 0, 0, file, MemoryKind.FILE, 0) for file, inode in INODES.items()]
    writer.memory([*names, *records.tolist()])
    for keep in (False, True):
        if keep:  # half of them is persisted, and the records of those lines are used again
            half = records[offsets % 128 == 0].copy()
            half["k"], half["z"], half["s"] = MemoryKind.FLUSH, Flush.CLFLUSH, 1
            writer.memory(half.tolist())
        found = walk(writer.trace(), AUTO, bytes(STACKS + 1))
        left = records[(offsets % 128 != 0)] if keep else records
        assert sum(int(s["count"]) for s in found.sites if s["pattern"] == Seen.TRANSIENT) == len(left)
        by_stack = Counter(left["s"].tolist())
        assert {int(s["stack"]): int(s["count"]) for s in found.sites} == by_stack
