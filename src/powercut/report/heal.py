"""A plan of healing, and leaked objects, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from powercut.heal.heal_plan import discarded
from powercut.printable import counted, one_line

if TYPE_CHECKING:
    from powercut.heal.failing_restart import Attempt
    from powercut.heal.heal_plan import Plan
    from powercut.heal.leaks import Leak
    from powercut.heal.session import Session

_SHOWN = 20  # steps
_WORDS = 5  # last lines of output of the restart


def plan_text(session: Session, plan: Plan, first: Attempt) -> str:
    """The plan, one step after the other."""
    return "\n".join(_lines(session, plan, first)) + "\n"


def _lines(session: Session, plan: Plan, first: Attempt) -> Iterator[str]:
    yield f"Restarted on a copy of {session.history.pool.path}, the service {first}"
    yield from (f"  | {one_line(line)}" for line in first.said.splitlines()[-_WORDS:])
    if plan.tainted is not None:
        yield f"  (in the memory tracer, it {plan.tainted}: the steps may have nothing to do with the failure)"
    if plan.later is not None:
        yield f"  (the process that used the pool ended well; {plan.later} failed later)"
    if plan.incomplete:
        yield "  (part of what happened could not be traced: the plan may be incomplete)"
    if not plan.steps:
        if plan.later is not None:
            yield f"It makes no difference to {plan.later} what is in the pool: the pool is not the cause."
            return
        yield "No logged update led to it: the pool is not the cause. Restart the service."
        yield "If the pool is full, look for leaks: powercut heal --leaks"
        return
    yield f"{counted(len(plan.steps), 'step')}, the most suspicious first:"
    for number, step in enumerate(plan.steps[:_SHOWN], 1):
        where = _where(session, step.cause)
        updates, size = discarded(session.history, step.records)
        yield f"  {number}. {where}, {session.age(step.cause):.1f} s before the end"
        yield f"     what it wrote {step.why}; would undo {counted(updates, 'update')}, {counted(size, 'byte')}"
    if len(plan.steps) > _SHOWN:
        yield f"  and {len(plan.steps) - _SHOWN} more"


def leaks_text(session: Session, leaks: Sequence[Leak]) -> str:
    """Leaked objects, by the line that allocated them."""
    lines = [f"{counted(len(leaks), 'object')} of {session.history.pool.path}: allocated, but not reachable"]
    groups: dict[str, list[int]] = {}
    for leak in leaks:
        where = "before the log began" if leak.record is None else _where(session, leak.record)
        groups.setdefault(where, []).append(leak.size)
    for where, sizes in sorted(groups.items(), key=lambda group: -sum(group[1])):
        lines.append(f"  {counted(len(sizes), 'object')}, {counted(sum(sizes), 'byte')}: allocated at {where}")
    return "\n".join(lines) + "\n"


def _where(session: Session, record: int) -> str:
    place = session.place(record)
    known = place is not None and place.line is not None
    where = f"{place.file}:{place.line} ({place.function})" if place and known else str(place or "unknown place")
    return one_line(where)
