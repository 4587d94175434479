"""What is said of a sync that is taken away is true of every state, on random runs and all models."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

import numpy as np
import pytest

from powercut.model.filesystem import FILE_SYSTEMS, FileSystem
from powercut.model.memory import PX86
from powercut.states.lattice import Lattice
from powercut.states.timeline import Timeline
from powercut.syncs.candidates import Candidates
from powercut.syncs.removal import Removal
from tests.models.random_runs import KINDS, MEMORY_KINDS, SYNCS, RunMaker, event_of, to_trace
from tests.models.test_models import engine_image

MOST_PENDING = 7  # every set of these is tried
SEEDS = 60


def pictures(timeline: Timeline) -> set | None:
    """Every image that a power cut can leave at any time, with how much was said by then; None if they are many."""
    found, seen = set(), set()
    for time in range(timeline.end + 1):
        said, pending = bisect_right(timeline.prints, time), timeline.pending(time)
        if len(pending) > MOST_PENDING:
            return None
        moment = (timeline.issued(time), tuple(pending), said)
        if moment not in seen:
            seen.add(moment)
            found |= {(engine_image(timeline, state), said) for state in Lattice(timeline, time).states()}
    return found


def removals(seed: int, row: FileSystem, kinds: list[str]):
    ops = RunMaker(seed, [*kinds, *["fsync"] * 3]).make(4 + seed % 7)
    ops = [op for i, op in enumerate(ops) for op in ([("print", b"said\n"), op] if (seed + i) % 4 == 0 else [op])]
    trace = to_trace(ops)
    timeline = Timeline(trace, row)
    for number, op in enumerate(ops):
        if op[0] in SYNCS or (op[0] == "write" and op[4]):
            yield Removal(timeline, np.array([event_of(trace, number)])), (seed, row.name, ops, number)


def rows() -> list[tuple[FileSystem, list[str]]]:
    memory = replace(FILE_SYSTEMS["ext4-ordered"], memory=PX86)
    return [*((row, KINDS) for row in FILE_SYSTEMS.values()), (memory, MEMORY_KINDS)]


every_row = pytest.mark.parametrize(
    ("row", "kinds"), rows(), ids=lambda value: getattr(value, "memory", value) and getattr(value, "name", "")
)


@every_row
def test_what_cannot_show_adds_no_image_and_what_is_new_was_not_possible(row: FileSystem, kinds: list[str]) -> None:
    compared = silent = 0
    for seed in range(SEEDS):
        for removal, case in removals(seed, row, kinds):
            with_it, without = pictures(removal.original), pictures(removal.timeline)
            if with_it is None or without is None:
                continue
            compared += 1
            silent += not removal.can_show and bool(removal.changed)
            assert with_it <= without, case
            if not removal.can_show:
                assert with_it == without, case
    assert compared > 50
    assert silent > 2


@every_row
def test_the_candidates_hold_every_new_image(row: FileSystem, kinds: list[str]) -> None:
    """So that their end means that nothing is left."""
    news = 0
    for seed in range(SEEDS if row.name == "posix" else SEEDS // 2):  # more of its runs have too many states
        for removal, case in removals(seed, row, kinds):
            with_it, without = pictures(removal.original), pictures(removal.timeline)
            candidates = Candidates(removal, 0)
            if with_it is None or without is None or not candidates.are_all:
                continue
            found = set()
            for state in candidates:
                assert removal.timeline.is_possible(state), case
                lost = removal.written_out(state)
                if removal.is_new(lost):
                    picture = (engine_image(removal.timeline, lost), removal.said(lost.point))
                    assert picture in without, case
                    found.add(picture)
                    assert not removal.is_new(removal.given_back(lost))
                    assert removal.original.is_possible(removal.given_back(lost)), case
                    before = removal.before(lost)
                    assert before is None or removal.original.is_possible(before), case
                else:
                    assert removal.original.is_possible(lost), case
            for image, said in without - with_it:  # a later word owes more, so it stands for an earlier one
                assert any(seen == image and said <= later for seen, later in found | with_it), case
            news += bool(without - with_it)
    assert news > 5


@every_row
def test_without_a_sync_the_updates_are_the_same_and_no_sooner_durable(row: FileSystem, kinds: list[str]) -> None:
    for seed in range(SEEDS):
        for removal, case in removals(seed, row, kinds):
            before, after = removal.original.updates, removal.timeline.updates
            for name in ("kind", "obj", "event", "start", "length", "data", "fresh", "effect_value", "names"):
                assert getattr(before, name) == getattr(after, name), case
            assert (removal.timeline.guaranteed >= removal.original.guaranteed).all(), case
            for update in range(len(before)):
                assert set(before.needs_of(update)) <= set(after.needs_of(update)), case
