"""Which updates a run has does not depend on its syncs: fixes and removals are tried by guarantees alone."""

from __future__ import annotations

import pytest

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.rules import ExtraSync
from powercut.states.timeline import Timeline
from tests.models.random_runs import MEMORY_KINDS, RunMaker, to_trace, without_some_syncs
from tests.models.test_models import event_of_call

COLUMNS = ("kind", "obj", "event", "start", "length", "data", "fresh", "first_need", "needs", "effect_value")


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
@pytest.mark.parametrize("kinds", [None, MEMORY_KINDS], ids=["calls", "stores"])
def test_a_sync_more_or_less_leaves_the_updates_as_they_are(fs: str, kinds: list[str] | None) -> None:
    changed = 0
    for seed in range(150):
        ops = RunMaker(seed, kinds).make(12)
        trace = to_trace(ops)
        plain = Timeline(trace, FILE_SYSTEMS[fs])
        files = range(1, len(plain.tree.things))
        extra = [ExtraSync(before=1 + seed % len(ops) + number, obj=obj) for number, obj in enumerate(files[:3])]
        skip = [event_of_call(op) for op in without_some_syncs(ops, seed)[1]] if kinds is None else []
        other = Timeline(trace, FILE_SYSTEMS[fs], extra=extra, skip=skip)
        for column in COLUMNS:
            assert getattr(other.updates, column) == getattr(plain.updates, column), (seed, column)
        changed += list(other.updates.guaranteed) != list(plain.updates.guaranteed)
    assert changed > 5
