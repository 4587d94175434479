"""Every memory model, with stores and file calls in one run, gives exactly the images of its brute-force twin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count, cycle

import pytest

from powercut.model.filesystem import FILE_SYSTEMS, FileSystem
from powercut.model.memory import EADR, PAGE_CACHE, PX86
from powercut.states.lattice import Lattice
from powercut.states.state import NEVER
from powercut.states.timeline import Timeline
from powercut.trace.layout import Kind
from tests.models.brute_force import all_images
from tests.models.random_runs import MEMORY_KINDS, RunMaker, event_of, to_trace, without_some_syncs
from tests.models.test_models import MOST_PENDING, ROWS, SHARDS, engine_image

RUNS = 10_000  # for each memory model
ALL = (PX86, EADR, PAGE_CACHE)


def compare(seed: int, rows: list[FileSystem], *, removing: bool = False) -> dict[str, int]:
    """Under which memories a run could be compared, by 1 or 0; the run and its trace are made once for all of them."""
    made = RunMaker(seed, MEMORY_KINDS).make(4 + seed % 9)
    ops, gone = without_some_syncs(made, seed) if removing else (made, [])
    if not any(op[0] == "store" for op in ops) or (removing and not gone):
        return {}
    trace = to_trace(made)
    skip = [event_of(trace, op) for op in gone]
    until = len(ops) - 1 if seed % 3 else seed % len(ops)
    return {row.memory.name: _compare_row(Timeline(trace, row, skip=skip), ops, until) for row in rows}


def _compare_row(timeline: Timeline, ops: list[tuple], until: int) -> int:
    assert not timeline.notes
    lattice, row = Lattice(timeline, 2 * event_of(timeline.trace, until)), timeline.row
    if len(lattice.pending) > MOST_PENDING:
        return 0
    states = list(lattice.states())
    assert len(set(states)) == len(states) == lattice.count(1 << 20)
    assert {engine_image(timeline, state) for state in states} == all_images(ops, row, until), (row, ops, until)
    return 1


def with_memories(row: FileSystem) -> list[FileSystem]:
    return [replace(row, memory=memory) for memory in ALL]


def none_yet() -> Counter[str]:
    return Counter({memory.name: 0 for memory in ALL})


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_model_equals_its_twin(shard: int) -> None:
    """The file-system rows take turns, each with whole blocks and on a disk that tears them."""
    done, disks = none_yet(), cycle([disk for row in ROWS for disk in (row, row.torn())])
    for seed in count(shard, SHARDS):
        done.update(compare(seed, with_memories(next(disks))))
        if min(done.values()) >= RUNS // SHARDS:
            break


def test_a_flush_or_fence_left_out_is_as_if_it_had_never_been() -> None:
    done = none_yet()
    for seed in range(1000):
        done.update(compare(seed, with_memories(ROWS[seed % len(ROWS)]), removing=True))
    assert min(done.values()) > 200


def test_leaving_out_makes_no_difference_to_how_a_run_is_written() -> None:
    """What is left out in the middle of a run of many records is as what is a run of its own."""
    row, compared = replace(FILE_SYSTEMS["ext4-ordered"], memory=PX86), 0
    for seed in range(300):
        ops = RunMaker(seed, ["create", "size", *["store"] * 4, *["flush"] * 3, *["fence"] * 3]).make(14)
        gone = without_some_syncs(ops, seed)[1]
        apart, together = to_trace(ops), to_trace(ops, in_runs=True)
        kinds = (Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.CREATE, Kind.TRUNCATE)
        ours, theirs = apart.of_kind(*kinds).tolist(), together.of_kind(*kinds).tolist()
        assert len(ours) == len(theirs) == len(ops)
        same = dict(zip(ours, theirs, strict=True))
        one = Timeline(apart, row, skip=[ours[op] for op in gone])
        other = Timeline(together, row, skip=[theirs[op] for op in gone])
        assert [same[event] for event in one.updates.event] == list(other.updates.event)
        assert [_moved(same, time) for time in one.updates.guaranteed] == list(other.updates.guaranteed), (ops, gone)
        compared += bool(gone)
    assert compared > 200


def _moved(same: dict[int, int], time: int) -> int:
    """A time of one trace in another: 2 i + 1 is the guarantee of event i, 2 i - 1 is right before it."""
    event, odd = divmod(time, 2)
    if time == NEVER:
        return NEVER
    return 2 * same[event] + odd if event in same else 2 * same[event + 1] - 1


def test_the_twin_notices_a_wrong_model() -> None:
    """Memory that promises something else must not pass: the comparison can fail."""
    row = FILE_SYSTEMS["ext4-ordered"]
    for wrong, right in ((PX86, EADR), (EADR, PX86), (PX86, PAGE_CACHE), (PAGE_CACHE, PX86)):
        assert any(_differs(seed, replace(row, memory=wrong), replace(row, memory=right)) for seed in range(2000))


def _differs(seed: int, wrong: FileSystem, right: FileSystem) -> bool:
    ops = RunMaker(seed, MEMORY_KINDS).make(4 + seed % 9)
    timeline = Timeline(to_trace(ops), wrong)
    lattice = Lattice(timeline, timeline.end)
    if len(lattice.pending) > MOST_PENDING:
        return False
    return {engine_image(timeline, state) for state in lattice.states()} != all_images(ops, right, len(ops))
