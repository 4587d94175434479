"""The fewest calls of a workload that still leave a state outside of the row."""

from __future__ import annotations

from dataclasses import replace

from powercut.model.filesystem import FileSystem
from tests.kernel.calls import InvalidCall, story_of
from tests.kernel.disks import Bench
from tests.kernel.rig import Examined, Plan, examine

TRIES = 4  # cuts are chosen at random, so that one try proves little


def shrink(bench: Bench, plan: Plan, row: FileSystem, result: Examined) -> tuple[Plan, Examined]:
    """Leave out lines one by one, as long as something is still left that must not be."""
    smaller = True
    while smaller:
        smaller = False
        for number in range(len(plan.lines) - 1, -1, -1):
            shorter = replace(plan, lines=plan.lines[:number] + plan.lines[number + 1 :])
            found = _outsider(bench, shorter, row)
            if found is not None:
                plan, result, smaller = shorter, found, True
    return plan, result


def _outsider(bench: Bench, plan: Plan, row: FileSystem) -> Examined | None:
    try:
        story_of(list(plan.lines))
    except InvalidCall:
        return None
    for attempt in range(TRIES):
        try:
            result = examine(bench, replace(plan, seed=plan.seed + attempt), row)
        except OSError:
            return None
        if result.outsiders:
            return result
    return None
