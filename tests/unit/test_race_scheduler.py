"""Executions, interleavings and seeds follow each other as coverage says."""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.errors import UsageError
from powercut.race.grammar import Command, Grammar, Integer
from powercut.race.inputs import Inputs, seed_files
from powercut.race.queue import InterleavingQueue
from powercut.race.schedule import Schedule, SyncPoint, load_schedule, save_schedule
from powercut.race.scheduler import (
    AGAIN,
    DULL_INTERLEAVINGS,
    MOST_EXECUTIONS,
    STORES,
    ExecutionScheduler,
    PointResult,
    Task,
)

A, B, C, D = (1, 10), (1, 20), (1, 30), (2, 40)
MET, GIVEN_UP = PointResult(1, 1, False), PointResult(0, 4, True)


def start(seeds: list[bytes] | None = None, mode: str = "pm") -> ExecutionScheduler:
    return ExecutionScheduler(Inputs(list(seeds or [])), mode, 0)  # type: ignore[arg-type]


def step(scheduler: ExecutionScheduler, new: int = 0, result: PointResult = MET) -> Task:
    task = scheduler.next()
    assert task is not None
    scheduler.told(task, new, 0, [result] if task.entry else [])
    return task


def test_the_first_execution_of_a_seed_has_no_schedule_and_fills_the_queue() -> None:
    scheduler = start()
    first = step(scheduler, new=5)
    assert first.is_scout
    first.state.queue.add_shared([A], [B], 3)
    second = step(scheduler)
    assert second.schedule.mode == "sync"
    assert (second.schedule.points[0].loads, second.schedule.points[0].stores) == ((A,), (B,))


def test_predicted_and_shared_places_take_turns_those_used_most_first() -> None:
    queue = InterleavingQueue(turns=2)
    queue.add_shared([A], [B], 3)
    queue.add_shared([C], [B], 100)
    queue.add_shared([A], [B], 200)
    queue.add_predicted(frozenset({D}), frozenset({A}), known=False, words=1)
    queue.add_predicted(frozenset({D}), frozenset({B}), known=True, words=1)
    taken = []
    while (found := queue.take()) is not None:
        taken.append((min(found[0].loads), min(found[0].stores), found[1]))
    predicted, shared, guessed = (D, B), [(A, B), (C, B)], (D, A)
    assert taken[:4] == [(*predicted, 0), (*shared[0], 0), (*guessed, 0), (*predicted, 1)]
    assert taken[4:] == [(*shared[1], 0), (*shared[0], 1), (*shared[1], 1), (*guessed, 1)]


def test_words_that_nobody_stores_or_loads_are_no_interleaving() -> None:
    queue = InterleavingQueue(turns=1)
    queue.add_shared([A], [], 3)
    queue.add_shared([], [A], 3)
    assert queue.take() is None


def test_an_interleaving_that_brings_something_new_is_executed_again() -> None:
    scheduler = start()
    step(scheduler).state.queue.add_shared([A], [B], 3)
    first, second = step(scheduler, new=2), step(scheduler)
    assert first.entry == second.entry
    assert first.schedule.seed != second.schedule.seed


def test_loads_that_waited_in_vain_are_skipped_when_it_is_tried_again() -> None:
    scheduler = start()
    step(scheduler).state.queue.add_shared([A], [B], 3)
    tries = [step(scheduler, result=GIVEN_UP) for _ in range(AGAIN + 1)]
    assert [task.schedule.points[0].skip for task in tries] == [0, 4]


def test_a_program_without_seeds_is_done_when_each_entry_has_waited_for_early_and_late_stores() -> None:
    scheduler = start()
    state = step(scheduler).state
    state.executed = {B: 40}
    for load in (A, C, D):
        state.queue.add_shared([load], [B], 3)
    points = [step(scheduler).schedule.points[0] for _ in range(3 * len(STORES))]
    assert [point.store_occurrence for point in points] == [store for store in (0, 0, 0, 20, 0, 10) for _ in range(3)]
    assert [point.skip == 0 for point in points] == ([True] * 3 + [False] * 3) * 3  # loads wait in every second turn
    assert scheduler.next() is None


def test_dull_interleavings_lead_to_the_next_seed_with_a_queue_of_its_own() -> None:
    scheduler = start([b"one", b"two"])
    queue = step(scheduler, new=1).state.queue
    for number in range(50):
        queue.add_shared([(3, number)], [B], 3)
    seeds = [step(scheduler).state.seed for _ in range(DULL_INTERLEAVINGS + 1)]
    assert seeds == [b"one"] * DULL_INTERLEAVINGS + [b"two"]


def test_nothing_is_left_only_when_nothing_is_under_way() -> None:
    scheduler = start()
    scouts = [scheduler.next(), scheduler.next()]
    assert None not in scouts
    scheduler.told(scouts[0], 1, 0, [])  # type: ignore[arg-type]
    assert scheduler.next() is None  # the second may still bring entries
    scouts[1].state.queue.add_shared([A], [B], 1)  # type: ignore[union-attr]
    scheduler.told(scouts[1], 1, 0, [])  # type: ignore[arg-type]
    assert scheduler.next() is not None


@pytest.mark.parametrize(("mode", "name"), [("random", "delay"), ("none", "free")])
def test_without_sync_points_executions_only_differ_by_their_seed(mode: str, name: str) -> None:
    scheduler = start(mode=mode)
    schedules = [step(scheduler).schedule for _ in range(9)]
    assert {schedule.mode for schedule in schedules} == {name}
    assert len({schedule.seed for schedule in schedules}) == 9


def test_seeds_that_brought_blocks_are_the_parents_of_new_ones() -> None:
    command = {"put": Command(form="put {key}")}
    inputs = Inputs([], Grammar(command=command, parameter={"key": Integer(most=9)}, operations=3, populate="put"))
    first = inputs.next()
    assert first is not None
    assert len(first.splitlines()) == 3
    inputs.ended(first, 4)
    lengths = []
    for _ in range(6):
        seed = inputs.next()
        assert seed is not None
        lengths.append(len(seed.splitlines()))
        inputs.ended(seed, 0)
    assert [length > 100 for length in lengths] == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]  # filled when nothing is new


def test_seeds_of_a_folder_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    assert seed_files(tmp_path) == [b"a", b"b"]


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_text(""), lambda path: None])
def test_a_folder_without_seeds_is_refused(tmp_path: Path, make) -> None:
    make(tmp_path / "seeds")
    with pytest.raises(UsageError, match="bad-seeds"):
        seed_files(tmp_path / "seeds")


def test_a_schedule_is_read_back_as_it_was_saved(tmp_path: Path) -> None:
    point = SyncPoint(loads=((2**64 - 1, 5),), stores=(B,), reader=2, writer=1, load_occurrence=3, store_occurrence=4)
    schedule = Schedule(mode="sync", seed=7, points=(point,))
    save_schedule(tmp_path / "s.json", schedule)
    assert load_schedule(tmp_path / "s.json") == schedule


@pytest.mark.parametrize("text", ["", "{", '{"mode": "other"}', '{"points": [1]}', "[" * 100_000])
def test_a_schedule_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UsageError, match="broken-run"):
        load_schedule(tmp_path / "s.json")


def test_a_store_that_is_a_finding_is_not_waited_for_again() -> None:
    queue = InterleavingQueue(turns=2)
    queue.add_shared([A], [B, C], 3)
    queue.shared.settled.add(B)
    assert queue.take() is not None
    queue.shared.settled.add(C)
    assert queue.take() is None


def test_a_seed_has_so_many_executions_as_long_as_there_are_others() -> None:
    scheduler = start([b"one", b"two"])
    queue = step(scheduler, new=1).state.queue
    for number in range(50):
        queue.add_shared([(3, number)], [B], 3)
    seeds = [step(scheduler, new=1).state.seed for _ in range(MOST_EXECUTIONS)]
    assert seeds == [b"one"] * (MOST_EXECUTIONS - 1) + [b"two"]
