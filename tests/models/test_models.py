"""Every file-system model gives exactly the images of its brute-force twin, on thousands of random runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from powercut.image.state_image import StateImage
from powercut.model.filesystem import FILE_SYSTEMS, Datasync, FileSystem, Rename
from powercut.states.lattice import Lattice
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from tests.models.brute_force import all_images
from tests.models.random_runs import RunMaker, to_trace, without_some_syncs

RUNS = 10_000  # for each model
SHARDS = 8  # so that the cores share the work
ROWS = list(FILE_SYSTEMS.values())
MOST_PENDING = 9  # the twin tries every subset


def engine_image(timeline: Timeline, state: State):
    image, found = StateImage(timeline, state), {}

    def walk(folder: int, prefix: str) -> None:
        for name, obj in image.entries(folder).items():
            path = prefix + name.decode()
            if image.kind(obj) is ObjectKind.FOLDER:
                found[path] = ("dir", image.mode(obj))
                walk(obj, path + "/")
            else:
                found[path] = ("file", image.mode(obj), image.read(obj, 0, 1 << 20))

    walk(0, "")
    return frozenset(found.items())


def event_of_call(op: int) -> int:
    return op + 1  # the folder's own snapshot is event 0


def compare(seed: int, rows: list[FileSystem], *, removing: bool = False) -> dict[str, int]:
    """Under which rows a run could be compared, by 1 or 0; the run and its trace are made once for all of them.

    `removing`, the models leave out some syncs, and their twins never saw them.
    """
    made = RunMaker(seed).make(2 + seed % 7)
    ops, gone = without_some_syncs(made, seed) if removing else (made, [])
    if removing and not gone:
        return {}
    trace = to_trace(made)
    until = len(ops) - 1 if seed % 3 else seed % len(ops)
    skip = [event_of_call(op) for op in gone]
    return {row.name: _compare_row(Timeline(trace, row, skip=skip), ops, until) for row in rows}


def _compare_row(timeline: Timeline, ops: list[tuple], until: int) -> int:
    assert not timeline.notes
    lattice, row = Lattice(timeline, 2 * event_of_call(until)), timeline.row
    if len(lattice.pending) > MOST_PENDING:
        return 0
    states = list(lattice.states())
    assert len(set(states)) == len(states) == lattice.count(1 << 20)
    assert all(timeline.is_possible(state) for state in states)
    assert {engine_image(timeline, state) for state in states} == all_images(ops, row, until), (row.name, ops, until)
    return 1


def none_yet() -> Counter[str]:
    return Counter(dict.fromkeys(FILE_SYSTEMS, 0))


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_model_equals_its_twin(shard: int) -> None:
    done = none_yet()
    for seed in count(shard, SHARDS):
        done.update(compare(seed, ROWS))
        if min(done.values()) >= RUNS // SHARDS:
            break


def test_torn_sectors_equal_the_twin() -> None:
    done, torn = none_yet(), [row.torn() for row in ROWS]
    for seed in range(800):
        done.update(compare(seed, torn))
    assert min(done.values()) > 400


def test_zeros_over_nothing_are_no_updates_and_no_image_is_missing() -> None:
    done = none_yet()
    kinds = ["create", "write", "write", "write", "truncate", "falloc", "fsync", "fdatasync", "sync", "rename", "link"]
    for seed in range(600):
        made = RunMaker(seed, kinds, zeros=True).make(2 + seed % 7)
        trace, until = to_trace(made), len(made) - 1 if seed % 3 else seed % len(made)
        done.update({row.name: _compare_row(Timeline(trace, row), made, until) for row in ROWS})
    assert min(done.values()) > 300


def test_a_sync_left_out_is_as_if_it_had_never_been() -> None:
    done = none_yet()
    for seed in range(1000):
        done.update(compare(seed, ROWS, removing=True))
    assert min(done.values()) > 200


def test_the_twin_notices_a_wrong_model() -> None:
    """A row with one answer changed must not pass for the original: the comparison can fail."""
    original = FILE_SYSTEMS["ext4-ordered"]
    for change in ({"journal": False}, {"rename": Rename.SPLIT}, {"datasync": Datasync.EVERYTHING}):
        wrong = replace(original, **change)
        assert any(_differs(seed, wrong, original) for seed in range(5000)), change


def _differs(seed: int, wrong: FileSystem, original: FileSystem) -> bool:
    ops = RunMaker(seed).make(2 + seed % 7)
    timeline = Timeline(to_trace(ops), wrong)
    lattice = Lattice(timeline, timeline.end)
    if len(lattice.pending) > MOST_PENDING:
        return False
    ours = {engine_image(timeline, state) for state in lattice.states()}
    return ours != all_images(ops, original, len(ops))


def test_both_ways_to_write_a_state_give_the_same_image() -> None:
    for seed in range(300):
        timeline = Timeline(to_trace(RunMaker(seed).make(8)), FILE_SYSTEMS["posix"])
        pending = frozenset(timeline.pending(timeline.end))
        for update in pending:
            less = timeline.without([update], timeline.end)
            same = State(timeline.end, Base.GUARANTEED, pending - less.delta)
            assert engine_image(timeline, less) == engine_image(timeline, same)
            assert not timeline.differing(less, same)
