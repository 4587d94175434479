"""Trying a plan on copies, until the service is well again with as little taken back as can be found.

Before: a plan, and a restart that fails. After: the records to take back, or the knowledge that none of the ways
helped. The pool itself is not touched.

Purge takes back the first steps of the plan one at a time. If none of them helps alone, but after one of them the
restart fails in the same way for another reason, that one stays taken back, and what led to the new failure is found in
its turn. Otherwise more and more steps are taken back together: 2, 4, 8, ...; once that helps, what was not needed is
given back. If it never helps, the same is done with older versions of the same bytes. Rollback takes back everything
since an update that is a cause, the newest one that helps: it discards more, and leaves a state that the pool really
had.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from powercut.guard.history import History
from powercut.heal.plan import Plan, Step, labels, make_plan
from powercut.heal.reversion import apply, patches
from powercut.heal.taint import LabelRange
from powercut.heal.workshop import Attempt, Workshop

ALONE = 24  # steps that are tried one at a time: a wrong one more may break what another one mends
FOLLOWED = 6  # failures one behind the other
VERSIONS = 3  # how far back the versions of a byte are tried
MODES = ("purge", "rollback")  # in the order in which they are tried
Records = frozenset[int]


@dataclass(slots=True)
class Healing:
    """A way that helps.

    Attributes:
        mode: "purge" or "rollback".
        attempts: how often the restart was tried on the way.
    """

    mode: str
    records: Records
    attempts: int
    seconds: float


@dataclass(slots=True)
class Healer:
    """Tries what a plan suggests.

    Attributes:
        name: the pool's path inside the folder.
    """

    workshop: Workshop
    history: History
    name: Path
    say: Callable[[str], None]
    modes: tuple[str, ...] = MODES
    _tried: dict[Records, Attempt] = field(default_factory=dict)

    def heal(self, plan: Plan) -> Healing | None:
        """Find a way; None if there is none."""
        began = time.monotonic()
        ways = {"purge": self._purge, "rollback": self._rollback}
        for mode in self.modes:
            records = ways[mode](plan)
            if records is not None:
                return Healing(mode, records, len(self._tried), time.monotonic() - began)
        return None

    def attempt(self, records: Records) -> Attempt:
        """How the restart goes when some records never were."""
        if records not in self._tried:
            self._tried[records] = attempt = self.workshop.attempt(lambda copy: self.take_back(copy, records))
            self.say(f"attempt {len(self._tried)}: without {len(records)} updates the service {attempt}")
        return self._tried[records]

    def explain(self, failed: Attempt, taken: Records = frozenset()) -> tuple[Plan, Attempt]:
        """What led to the failure that is left when some records never were; and how the run under taint ended."""

        def label(copy: Path) -> list[LabelRange]:
            self.take_back(copy, taken)
            return labels(self.history, copy / self.name, taken)

        origins = self.workshop.explain(failed, label)
        return make_plan(self.history, origins), origins.attempt

    def take_back(self, folder: Path, records: Records) -> None:
        """Do it in a copy."""
        file = folder / self.name
        apply(file, patches(self.history, file, records))

    def _purge(self, plan: Plan) -> Records | None:
        followed = self._follow(plan)
        if followed is not None:
            return followed
        steps = list(plan.steps)
        for _ in range(VERSIONS):
            alone = next((step for step in steps[:ALONE] if self.attempt(step.records).healed), None)
            if alone is not None:
                return alone.records
            enough = self._enough(steps)
            if enough:
                return self._without_needless(enough)
            steps = [self._with_older(step) for step in steps]
        return None

    def _follow(self, plan: Plan) -> Records | None:
        """Steps one at a time, and on from the one after which the restart fails almost as before, but not quite."""
        steps, taken, failed = plan.steps, Records(), self.attempt(Records())
        for _ in range(FOLLOWED):
            changed: dict[Records, float] = {}
            for records in (taken | step.records for step in steps[:ALONE]):
                attempt = self.attempt(records)
                if attempt.healed:
                    return records
                if attempt.resembles(failed) and attempt.said != failed.said:
                    changed[records] = SequenceMatcher(None, attempt.said, failed.said).ratio()
            if not changed:
                return None
            taken = max(changed, key=changed.__getitem__)
            failed = self.attempt(taken)
            steps = self.explain(failed, taken)[0].steps
        return None

    def _enough(self, steps: list[Step]) -> list[Step]:
        """The first steps that help together; none if all of them do not."""
        return steps[: _fewest(len(steps), lambda count: self.attempt(_together(steps[:count])).healed)]

    def _without_needless(self, steps: list[Step]) -> Records:
        """The steps without those that are not needed: the last one alone, most often."""
        if self.attempt(_together(steps[-1:])).healed:
            return _together(steps[-1:])
        for step in steps[:-1]:
            fewer = [other for other in steps if other is not step]
            if self.attempt(_together(fewer)).healed:
                steps = fewer
        return _together(steps)

    def _with_older(self, step: Step) -> Step:
        """A step with the version before: what last wrote the bytes that it writes."""
        table, older = self.history.log.records, set()
        for record in step.records:
            start = int(table["offset"][record])
            touching = self.history.overlapping(start, start + int(table["size"][record])).tolist()
            before = [index for index in touching if index < record and index not in step.records]
            older |= set(before[-1:])
        return Step(step.cause, step.records | older, step.why)

    def _rollback(self, plan: Plan) -> Records | None:
        """Back to before a cause and what goes with it: the newest one that helps."""
        moments = sorted({min(step.records) for step in plan.steps}, reverse=True)
        enough = _fewest(len(moments), lambda count: self.attempt(self._since(moments[count - 1])).healed)
        return self._since(moments[enough - 1]) if enough else None

    def _since(self, moment: int) -> Records:
        return frozenset(self.history.changes[self.history.changes >= moment].tolist())


def _fewest(most: int, helps: Callable[[int], bool]) -> int:
    """How many are enough, if more help no less: found by doubling, then by halving; 0: all are not."""
    failing, size = 0, 1
    while most and not helps(min(size, most)):
        if size >= most:
            return 0
        failing, size = size, 2 * size
    size = min(size, most)
    while size - failing > 1:
        middle = (size + failing) // 2
        if helps(middle):
            size = middle
        else:
            failing = middle
    return size


def _together(steps: list[Step]) -> Records:
    return frozenset().union(*(step.records for step in steps))
