"""A healing as the JSON report has it: the plan, each attempt, and what came of it.

Before: a session with a plan, tried or not. After: plain values, from which the page (`html/heal.py`) is made, too.
Fields may be added; those here keep their meaning. docs/guard.md explains each, and a test keeps that page whole.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

from powercut import __version__
from powercut.findings.places import place_of
from powercut.heal.failing_restart import Attempt
from powercut.heal.heal_plan import Plan, Step, discarded
from powercut.heal.healer import Healing
from powercut.heal.session import Session
from powercut.quick_dataclass import dataclass
from powercut.report.location_document import LocationDocument, location_document


class HealOutcome(StrEnum):
    """What came of it."""

    PLANNED = "planned"  # nothing was tried
    EMPTY = "empty"  # nothing in the pool led to the failure
    FAILED = "failed"  # nothing of the plan helps
    DECLINED = "declined"  # something helps, and the operator said no
    INTERRUPTED = "interrupted"  # the operator ended the search before anything helped
    WELL = "well"  # the service works
    HEALED = "healed"  # the pool was changed


@dataclass(frozen=True, slots=True)
class Result:
    """How a session ended.

    Attributes:
        way_back: the file that undoes it, if the pool was changed.
    """

    outcome: HealOutcome
    healing: Healing | None = None
    way_back: Path | None = None


class StepDocument(msgspec.Struct):
    """One step of the plan."""

    location: LocationDocument
    age: float
    why: str
    updates: int
    bytes: int
    taken_back: bool


class AttemptDocument(msgspec.Struct):
    """One restart on a copy."""

    updates: int
    ended: str
    well: bool
    seconds: float
    said: str


class HealingDocument(msgspec.Struct):
    """What helps, and what it discards."""

    mode: str
    seconds: float
    updates: int
    bytes: int
    percent: float
    cut_short: bool = False


class HealDocument(msgspec.Struct):
    """One healing."""

    version: str
    pool: str
    log: str
    command: list[str]
    failure: str
    incomplete: bool
    updates: int
    steps: list[StepDocument]
    attempts: list[AttemptDocument]
    outcome: HealOutcome
    healing: HealingDocument | None
    undo: str | None
    tainted: str | None = None


def heal_document(session: Session, plan: Plan, first: Attempt, result: Result) -> HealDocument:
    """What a session planned, tried and did."""
    healing = result.healing
    return HealDocument(
        version=__version__,
        pool=str(session.history.pool.path),
        log=str(session.history.log.folder),
        command=list(session.command),
        failure=str(first),
        incomplete=plan.incomplete,
        tainted=str(plan.tainted) if plan.tainted else None,
        updates=plan.updates,
        steps=[_step(session, step, healing) for step in plan.steps],
        attempts=[_attempt(len(records), attempt) for records, attempt in session.attempts],
        outcome=result.outcome,
        healing=None if healing is None else _healing(session, plan, healing),
        undo=str(result.way_back) if result.way_back else None,
    )


def _step(session: Session, step: Step, healing: Healing | None) -> StepDocument:
    frame = session.place(step.cause)
    updates, size = discarded(session.history, step.records)
    return StepDocument(
        location=location_document(place_of(frame, [frame] if frame else [], "made")),
        age=round(session.age(step.cause), 3),
        why=step.why,
        updates=updates,
        bytes=size,
        taken_back=healing is not None and step.records <= healing.records,
    )


def _attempt(updates: int, attempt: Attempt) -> AttemptDocument:
    return AttemptDocument(updates, str(attempt), attempt.healed, round(attempt.seconds, 3), attempt.said)


def _healing(session: Session, plan: Plan, healing: Healing) -> HealingDocument:
    updates, size = discarded(session.history, healing.records)
    percent = round(100 * updates / max(1, plan.updates), 4)
    seconds = round(healing.seconds, 3)
    return HealingDocument(healing.mode, seconds, updates, size, percent, healing.is_cut_short)
