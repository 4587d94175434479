"""The search of `heal`: an answer is there early and never lost, and a guess that a restart hangs costs nothing.

Here a list of names stands for what the restart does with a pool, so that its answers are known.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.guard.log import RecordKind
from powercut.heal import healer as healer_module
from powercut.heal.failing_restart import Attempt, Origins
from powercut.heal.heal_plan import Plan, make_plan, steps_for
from powercut.heal.healer import Healer
from tests.guard_kit import Made, history_of, start_of_log, write_segment

COUNT = 60  # updates of a word each
FAILED, WELL = Attempt("exited", 1, 0.1, "it failed"), Attempt("exited", 0, 0.1)
GUESS = Attempt("hung", 0, 3.0, "", is_guess=True)
Records = frozenset[int]


class Restart:
    """Says how restarts go, by the updates that were taken back: the numbers of their words."""

    def __init__(self, answer: Callable[[Records], Attempt]) -> None:
        self.answer, self.asked, self.patient = answer, 0, 0
        self.taken: Records = frozenset()

    def attempt(self, prepare: object, *, patient: bool = False) -> Attempt:
        self.asked += 1
        self.patient += patient
        return self.answer(self.taken)


class Search(Healer):
    """A healer that tells its restart which words are undone, and changes no copies."""

    def attempt(self, records: Records, *, patient: bool = False) -> Attempt:
        offsets = self.history.log.records["offset"][sorted(records)]
        self.restart.taken = frozenset((offsets // 8).tolist())
        return super().attempt(records, patient=patient)

    def explain(self, failed: Attempt, taken: Records = frozenset()) -> tuple[Plan, Attempt]:
        return Plan(), failed


@pytest.fixture
def search(tmp_path: Path) -> Callable[..., tuple[Search, Plan]]:
    made = [Made(10 + i, RecordKind.UPDATE, 8 * i, bytes([i + 1]) * 8, 0x10 + i) for i in range(COUNT)]
    write_segment(tmp_path, 1, [*start_of_log(tmp_path, bytes(4096)), *made])
    (tmp_path / "pool").write_bytes(b"".join(record.data for record in made).ljust(4096, b"\0"))
    history = history_of(tmp_path)

    def make(answer: Callable[[Records], Attempt], **more: object) -> tuple[Search, Plan]:
        restart = Restart(answer)
        newest = history.changes[::-1].tolist()
        steps = steps_for(history, ((record, "is suspected") for record in newest))
        found = Search(restart, history, Path("pool"), lambda _: None, **more)
        return found, Plan(steps, COUNT)

    return make


def test_rollback_answers_before_all_of_purge_is_tried(search: Callable[..., tuple[Search, Plan]]) -> None:
    """Interrupted later, that answer is offered; not interrupted, purge finds one with less."""
    bad = COUNT - 20
    healer, plan = search(lambda taken: WELL if bad in taken else FAILED)
    found = healer.heal(plan)
    assert found is not None and (found.mode, len(found.records)) == ("purge", 1)
    asked = healer.restart.asked

    def until(taken: Records) -> Attempt:
        if len(healer.attempts) >= asked - 3:
            raise KeyboardInterrupt
        return WELL if bad in taken else FAILED

    healer, plan = search(until)
    found = healer.heal(plan)
    assert found is not None and found.mode == "rollback" and found.is_cut_short and healer.is_interrupted
    assert len(found.records) == 20


def test_an_interrupt_before_anything_helped_has_no_answer(search: Callable[..., tuple[Search, Plan]]) -> None:
    def interrupt(taken: Records) -> Attempt:
        raise KeyboardInterrupt

    healer, plan = search(interrupt)
    assert healer.heal(plan) is None
    assert healer.is_interrupted


def test_the_search_ends_with_its_time(
    search: Callable[..., tuple[Search, Plan]], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(healer_module.time, "monotonic", lambda: float(next(clock)))
    healer, plan = search(lambda _: FAILED, budget=30.0)
    assert healer.heal(plan) is None and healer.is_over
    assert healer.restart.asked < 40


def test_what_helps_is_made_less_for_a_bounded_time(search: Callable[..., tuple[Search, Plan]]) -> None:
    """Where only everything together helps, that is the answer after some more attempts."""
    healer, plan = search(lambda taken: WELL if len(taken) >= COUNT - 2 else FAILED)
    found = healer.heal(plan)
    assert found is not None and len(found.records) >= COUNT - 2
    assert healer.restart.asked <= 100


def test_a_restart_that_seemed_to_hang_is_asked_again(search: Callable[..., tuple[Search, Plan]]) -> None:
    def slow(taken: Records) -> Attempt:
        right = taken == {COUNT - 1}
        return WELL if right and healer.restart.patient else GUESS

    healer, plan = search(slow)
    found = healer.heal(plan)
    assert found is not None and len(found.records) == 1


def test_a_plan_of_a_run_that_ended_otherwise_has_the_newest_updates_too(
    search: Callable[..., tuple[Search, Plan]],
) -> None:
    healer, _ = search(lambda _: FAILED)
    other = Attempt("exited", 71, 0.1)
    plan = make_plan(healer.history, Origins(other, [], [], False, {}, None, []), FAILED)
    assert plan.tainted == other
    assert plan.steps[0].cause == healer.history.changes[-1] and plan.steps[-1].why
    same = make_plan(healer.history, Origins(FAILED, [], [], False, {}, None, []), FAILED)
    assert same.tainted is None and not same.steps
