"""What blocks, sizes and files hold in a state, against a twin that applies update after update to a bytearray.

The histories are made directly in the columns and the states take any subset of what is pending: the order of updates
is no business of the content. So this holds for blocks and sectors of files as for words of mapped memory, which
persist line by line.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_128_intdigest

from powercut import _engine
from powercut.states.content_index import ContentIndex
from powercut.states.objects import BLOCK, ObjectKind
from powercut.states.state import NEVER
from powercut.states.tree import Thing, Tree
from powercut.states.updates import UpdateKind, Updates
from powercut.trace.reader import Trace

FILE, OTHER_FILE = 1, 2
BLOCKS = 3
END = BLOCKS * BLOCK
GARBAGE = 0xA5
POOL = random.Random(1).randbytes(1 << 16)


@dataclass
class Blobs:
    """As much of a trace as an index asks for."""

    content: bytes = POOL


@dataclass
class World:
    """One file with a history, and one beside it that shares nothing."""

    garbage: bool
    updates: Updates = field(default_factory=Updates)
    tree: Tree = field(default_factory=Tree)

    def __post_init__(self) -> None:
        self.tree.add(1, Thing(ObjectKind.FOLDER, 0o755))
        base = [(100, 5000, 11), (6000, 1000, 17), (9000, 10, 23)]
        self.tree.add(2, Thing(ObjectKind.FILE, 0o644, base_size=9010, base_data=base))
        self.tree.add(3, Thing(ObjectKind.FILE, 0o644, base_size=BLOCK, base_data=[(0, BLOCK, 400)]))

    def add(self, kind: UpdateKind, guaranteed: int, obj: int = FILE, **columns: int) -> int:
        number = self.updates.add(kind, obj, len(self.updates), [], **columns)
        self.updates.guaranteed[number] = guaranteed
        return number

    def history(self) -> _engine.History:
        return ContentIndex(cast(Trace, Blobs()), self.updates, self.tree, garbage=self.garbage).history


@dataclass(frozen=True)
class Moment:
    """A state: a point, its base, and the updates in which it differs."""

    point: int
    issued: int
    kept: bool
    delta: frozenset[int]

    def survives(self, world: World, update: int) -> bool:
        if update >= self.issued:
            return False
        return world.updates.guaranteed[update] <= self.point or (update in self.delta) is self.kept

    def engine(self, history: _engine.History) -> _engine.Survivors:
        return _engine.Survivors(history, self.point, self.issued, self.kept, self.delta)


def twin(world: World, moment: Moment, file: int = FILE) -> tuple[bytes, int]:
    """The content of a file as if it had no end, and its size, made by replaying everything."""
    thing, updates = world.tree.things[file], world.updates
    content, size = bytearray(END), thing.base_size
    for start, length, blob in thing.base_data:
        content[start : start + length] = POOL[blob : blob + length]
    for update in range(moment.issued):
        if updates.obj[update] != file:
            continue
        kind, start, length = updates.kind[update], updates.start[update], updates.length[update]
        if not moment.survives(world, update):
            cut = updates.data[update]
            shows = world.garbage and kind == UpdateKind.FILL and updates.fresh[update]
            if shows and (cut < 0 or moment.survives(world, cut)):
                content[start : start + length] = bytes([GARBAGE]) * length
        elif kind == UpdateKind.DATA:
            content[start : start + length] = POOL[updates.data[update] : updates.data[update] + length]
        elif kind == UpdateKind.SIZE:
            size = max(size, start)
        elif kind == UpdateKind.CUT:
            gone = start + length
            content[gone:] = bytes(max(0, END - gone))
            size = start
        elif kind in (UpdateKind.ZERO, UpdateKind.FILL):
            content[start : start + length] = bytes(length)
    return bytes(content), size


def fill_world(world: World, rng: random.Random, count: int, words: float, cuts: float) -> None:
    """Stores of at most a word, writes of any length, cuts and holes; guarantees that come late, early or never."""
    hot = [rng.randrange(END // 8) * 8 for _ in range(rng.randint(1, 40))]
    size, last_cut = world.tree.things[FILE].base_size, -1
    for _ in range(count):
        late = rng.choice((1, 1, 7, 50, NEVER))
        guaranteed = NEVER if late == NEVER else 2 * len(world.updates) + late
        if rng.random() < cuts:
            start = rng.randrange(END)
            kind = rng.choice((UpdateKind.CUT, UpdateKind.ZERO, UpdateKind.SIZE))
            if kind == UpdateKind.SIZE and rng.random() < 0.8:
                start = rng.randint(min(size, END), END)  # most sizes that are not cut off grow
            if kind != UpdateKind.ZERO:
                size = start
            length = rng.randint(1, END - start) if kind == UpdateKind.ZERO else 0
            if kind == UpdateKind.CUT:
                length = rng.choice((0, 0, -start % BLOCK, NEVER - start))
            last_cut = world.add(kind, guaranteed, start=start, length=length)
            continue
        if rng.random() < words:
            first = rng.randrange(8)
            start, length = rng.choice(hot) + first, rng.randint(1, 8 - first)
        else:
            start = rng.choice((0, BLOCK, rng.randrange(END - 1)))
            length = min(END - start, rng.choice((BLOCK, rng.randint(1, 300), rng.randint(1, 9000))))
        if rng.random() < 0.2:
            fresh = rng.choice((True, True, False))
            cut = rng.choice((-1, last_cut))
            world.add(UpdateKind.FILL, guaranteed, start=start, length=length, fresh=fresh, data=cut)
        data = rng.randrange(len(POOL) - length)
        world.add(UpdateKind.DATA, guaranteed, start=start, length=length, data=data)
        if rng.random() < 0.05:
            world.add(UpdateKind.DATA, NEVER, OTHER_FILE, start=start % 4000, length=min(8, length), data=data)


def moments(world: World, rng: random.Random, count: int) -> Iterator[Moment]:
    for _ in range(count):
        issued = rng.choice((len(world.updates), rng.randint(0, len(world.updates))))
        point = max(0, 2 * issued - rng.randint(0, 1))
        pending = [u for u in range(issued) if world.updates.guaranteed[u] > point]
        some = rng.choice((0, min(3, len(pending)), rng.randint(0, len(pending))))
        yield Moment(point, issued, rng.random() < 0.5, frozenset(rng.sample(pending, some)))


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from((0, 1, 5, 40, 200, 700)),
    words=st.sampled_from((0.0, 0.5, 1.0)),
    cuts=st.sampled_from((0.0, 0.02, 0.3)),
    garbage=st.booleans(),
)
def test_blocks_and_sizes_are_those_of_the_twin(
    seed: int, count: int, words: float, cuts: float, garbage: bool
) -> None:
    rng = random.Random(seed)
    world = World(garbage)
    fill_world(world, rng, count, words, cuts)
    history = world.history()
    for moment in moments(world, rng, 8):
        survivors = moment.engine(history)
        for file in (FILE, OTHER_FILE):
            content, size = twin(world, moment, file)
            assert b"".join(survivors.block(file, number) for number in range(BLOCKS)) == content
            assert survivors.size(file) == size
            offset, length = rng.randrange(END), rng.randrange(END)
            assert survivors.read(file, offset, length) == content[offset : min(offset + length, size)]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), cuts=st.sampled_from((0.0, 0.1)))
def test_hashes_and_files_follow_from_state_to_state(seed: int, cuts: float) -> None:
    """Only what `touched` names is hashed or written anew, and it is enough.

    Garbage shows with the size that uncovers it, which these histories do not keep to: test_digest.py has it.
    """
    rng = random.Random(seed)
    world = World(garbage=False)
    fill_world(world, rng, 150, 0.7, cuts)
    history = world.history()
    following, known, before = _engine.BlockHashes(), dict[bytes, bytes](), None
    with tempfile.TemporaryFile() as file:
        for moment in moments(world, rng, 12):
            survivors = moment.engine(history)
            size = survivors.size(FILE)
            blocks: set[int] | None = None
            if before is not None:
                changed = [
                    u for u in range(len(world.updates)) if before.survives(world, u) != moment.survives(world, u)
                ]
                found = before.engine(history).differing(survivors, 0, len(world.updates), ())
                assert sorted(memoryview(found).cast("i")) == changed
                blocks = history.touched(changed)[1].get(FILE, set())
            content = twin(world, moment)[0][:size].ljust(size, b"\0")
            total = following.update(survivors, FILE, blocks, size)
            assert total == _engine.BlockHashes().update(survivors, FILE, None, size)
            padded = content.ljust(END, b"\0")
            assert known.setdefault(padded, total) == total
            old = os.fstat(file.fileno()).st_size
            os.ftruncate(file.fileno(), min(old, size) if blocks is not None else 0)
            kept = os.fstat(file.fileno()).st_size
            survivors.patch(file.fileno(), FILE, blocks or set(), kept)
            written = survivors.fill(file.fileno(), FILE, kept, size)
            assert written == max(kept, len(os.pread(file.fileno(), END, 0)))
            os.ftruncate(file.fileno(), size)
            assert os.pread(file.fileno(), END, 0) == content
            before = moment
    assert len(set(known.values())) == len(known)


def test_the_hash_of_a_block_is_xxh3_of_its_content_and_place() -> None:
    """As Python's xxhash says it: what is kept between runs must not depend on who computes it."""
    world = World(garbage=False)
    fill_world(world, random.Random(7), 40, 0.7, 0.0)
    moment = next(moments(world, random.Random(7), 1))
    survivors = moment.engine(world.history())
    size = survivors.size(FILE)
    content = twin(world, moment)[0][:size].ljust(-(-size // BLOCK) * BLOCK, b"\0")
    wanted = blocks = 0
    for block in range(len(content) // BLOCK):
        piece = content[block * BLOCK : (block + 1) * BLOCK]
        if any(piece):
            blocks += 1
            inner = xxh3_128_intdigest(piece).to_bytes(16, "little")
            wanted ^= xxh3_128_intdigest(inner + block.to_bytes(8, "little"))
    assert blocks > 1
    assert int.from_bytes(_engine.BlockHashes().update(survivors, FILE, None, size), "little") == wanted


def test_near_blocks_have_distant_hashes() -> None:
    """One bit, one word moved, the same bytes in another block: all hashes differ, in either half."""
    world = World(garbage=False)
    world.tree.things[OTHER_FILE].base_data.clear()
    for bit in range(8 * 512):  # one bit set at a time, in the bytes of the pool
        data = POOL.index(bytes([1 << bit % 8]))
        world.add(UpdateKind.DATA, NEVER, OTHER_FILE, start=bit // 8 * 8, length=1, data=data)
    history, seen = world.history(), list[bytes]()
    for update in range(len(world.updates)):
        survivors = _engine.Survivors(history, 10**6, len(world.updates), True, frozenset([update]))
        seen.append(_engine.BlockHashes().update(survivors, OTHER_FILE, None, BLOCK))
    for half in (slice(0, 8), slice(8, 16)):
        assert len({total[half] for total in seen}) == len(seen)


@pytest.mark.parametrize("kept", [True, False])
def test_a_hot_page_costs_its_words_and_not_its_history(kept: bool) -> None:
    """100,000 stores to one page, most of a counter of four bytes beside four that were written once."""
    world = World(garbage=False)
    stores = 100_000
    for number in range(stores):
        word = 8 * (number % 512) if number < 4096 else 64
        world.add(UpdateKind.DATA, NEVER, start=word, length=8 if number < 4096 else 4, data=number % 60_000)
    history = world.history()
    delta = range(100) if kept else range(90_000, stores)
    moment = Moment(2 * stores, stores, kept, frozenset(delta))
    survivors = moment.engine(history)
    assert survivors.block(FILE, 0) == twin(world, moment)[0][:BLOCK]
    started = time.process_time()
    for _ in range(100):
        survivors.block(FILE, 0)
    assert time.process_time() - started < 1.0  # 100 walks over all stores would take many times that


def test_numbers_that_point_nowhere_are_refused() -> None:
    world = World(garbage=False)
    world.add(UpdateKind.DATA, NEVER, start=0, length=8, data=len(POOL) - 4)
    with pytest.raises(ValueError, match="outside of the trace"):
        world.history()
    history = World(garbage=False).history()
    with pytest.raises(IndexError):
        _engine.Survivors(history, 0, 0, False, frozenset([5]))
    survivors = _engine.Survivors(history, 0, 0, False, frozenset())
    for wrong in (-1, 3):
        with pytest.raises(IndexError):
            survivors.size(wrong)
        with pytest.raises(IndexError):
            survivors.block(wrong, 0)
    with pytest.raises(IndexError):
        history.touched([0])
