"""Trying a plan on copies of the pool, until the service works with as few updates undone as possible.

Before: a plan, and a restart that fails. After: the records to take back, or the knowledge that none of the ways
helped. The pool itself is not touched.

Purge takes back the first steps of the plan one at a time. If none of them helps alone, but after one of them the
restart fails in the same way for another reason, that one stays taken back, and what led to the new failure is found in
its turn. Otherwise more and more steps are taken back together: 2, 4, 8, ...; once that helps, what was not needed is
given back, found by halving. If it never helps, what else the same line made is suspected, too: a wrong line may have
written many records of which the restart meets only the first. Then older versions of the same bytes are tried. What
depends on what purge has found is taken back with it, if the restart goes well then, too.
Rollback takes back everything since an update that is a cause, the newest one that helps: it discards more, and leaves
a state that the pool really had, unless the log does not go back so far. In both modes steps can be tried in batches:
fewer attempts, and more is discarded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

from powercut.guard.history import History
from powercut.heal.dependents import dependents, made_by_same_line
from powercut.heal.failing_restart import Attempt, FailingRestart
from powercut.heal.heal_plan import Plan, Step, labels, make_plan, steps_for, together
from powercut.heal.references import References
from powercut.heal.reversion import Patch, apply, patches
from powercut.heal.taint import LabelRange
from powercut.minimise import fewest, needed
from powercut.trace.symbols import Frame

ALONE = 24  # steps that are tried one at a time: a wrong one more may break what another one mends
FOLLOWED = 6  # failures one behind the other
LINES = 4  # lines of which all records are suspected
VERSIONS = 3  # how far back the versions of a byte are tried
MODES = ("purge", "rollback")  # in the order in which they are tried
Records = frozenset[int]
Reorder = Callable[[list[Step], list[tuple[Frame, ...]]], list[Step]]


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


@dataclass
class Healer:
    """Tries what a plan suggests.

    Attributes:
        name: the pool's path inside the folder.
        batch: how many steps are taken back as one.
        reorder: what else is known puts the steps of a failure with some stacks into another order.
        recovery: what libpmemobj does to the pool when it is opened: done first.
    """

    restart: FailingRestart
    history: History
    name: Path
    say: Callable[[str], None]
    modes: tuple[str, ...] = MODES
    batch: int = 1
    reorder: Reorder | None = None
    recovery: Sequence[Patch] = ()
    _tried: dict[Records, Attempt] = field(default_factory=dict)

    @cached_property
    def _references(self) -> References:
        return References(self.history)

    def heal(self, plan: Plan) -> Healing | None:
        """Find a way; None if there is none."""
        began = time.monotonic()
        ways, steps = {"purge": self._purge, "rollback": self._rollback}, plan.batches(self.batch)
        for mode in self.modes:
            records = ways[mode](steps)
            if records is not None:
                return Healing(mode, records, len(self._tried), time.monotonic() - began)
        return None

    @property
    def attempts(self) -> list[tuple[Records, Attempt]]:
        """What was tried, in order."""
        return list(self._tried.items())

    def attempt(self, records: Records) -> Attempt:
        """How the restart goes when some records never were."""
        if records not in self._tried:
            self._tried[records] = attempt = self.restart.attempt(
                lambda copy: self.take_back(copy / self.name, records)
            )
            self.say(f"attempt {len(self._tried)}: with {len(records)} updates undone, the service {attempt}")
        return self._tried[records]

    def explain(self, failed: Attempt, taken: Records = frozenset()) -> tuple[Plan, Attempt]:
        """What led to the failure that is left when some records never were; and how the run under taint ended."""

        def label(copy: Path) -> list[LabelRange]:
            self.take_back(copy / self.name, taken)
            return labels(self.history, copy / self.name, taken)

        origins = self.restart.explain(failed, label, stacks=self.reorder is not None)
        plan = make_plan(self.history, origins)
        if self.reorder is not None:
            plan.steps = self.reorder(plan.steps, origins.stacks)
        return plan, origins.attempt

    def take_back(self, file: Path, records: Records) -> None:
        """Do it in a copy of the pool."""
        apply(file, self.recovery)
        apply(file, patches(self.history, file, records))
        apply(file, self._references.relinked(records))

    def _purge(self, steps: list[Step]) -> Records | None:
        ways = (self._follow, self._alone_or_together, self._lines, self._older_versions)
        found = next((records for way in ways if (records := way(steps)) is not None), None)
        return found if found is None else self._with_dependents(found)

    def _follow(self, steps: list[Step]) -> Records | None:
        """Steps one at a time, and on from the one after which the restart fails almost as before, but not quite."""
        taken, failed = Records(), self.attempt(Records())
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
            steps = self.explain(failed, taken)[0].batches(self.batch)
        return None

    def _alone_or_together(self, steps: list[Step]) -> Records | None:
        alone = next((step for step in steps[:ALONE] if self.attempt(step.records).healed), None)
        return self._least(steps) if alone is None else alone.records

    def _lines(self, steps: list[Step]) -> Records | None:
        """What the lines that made the first suspects made at other times, the newest first."""
        lines: list[list[int]] = []
        for step in steps[:ALONE]:
            if len(lines) < LINES and not any(step.cause in line for line in lines):
                lines.append(made_by_same_line(self.history, step.cause))
        for line in lines:
            least = self._least(steps_for(self.history, ((record, "was made by the same line") for record in line)))
            if least is not None:
                return least
        return None

    def _older_versions(self, steps: list[Step]) -> Records | None:
        for _ in range(1, VERSIONS):
            steps = [self._with_older(step) for step in steps]
            found = self._alone_or_together(steps)
            if found is not None:
                return found
        return None

    def _with_dependents(self, records: Records) -> Records:
        """With what depends on them: what refers to an object that is no more."""
        both = records | dependents(self.history, records)
        return both if self.attempt(both).healed else records

    def _least(self, steps: list[Step]) -> Records | None:
        """Of the first steps that help together those that are needed: the last one alone, most often."""
        enough = steps[: fewest(len(steps), lambda count: self._help_together(steps[:count]))]
        if not enough:
            return None
        return together([*needed(enough[:-1], self._help_together, enough[-1:]), *enough[-1:]])

    def _help_together(self, steps: Sequence[Step]) -> bool:
        return self.attempt(together(steps)).healed

    def _with_older(self, step: Step) -> Step:
        """A step with the version before: what last wrote the bytes that it writes."""
        table, older = self.history.log.records, set()
        for record in step.records:
            start = int(table["offset"][record])
            touching = self.history.overlapping(start, start + int(table["size"][record])).tolist()
            before = [index for index in touching if index < record and index not in step.records]
            older |= {part for newest in before[-1:] for part in self.history.parts_of(newest)}
        return Step(step.cause, step.records | older, step.why)

    def _rollback(self, steps: list[Step]) -> Records | None:
        """Back to before a cause and what goes with it: the newest one that helps."""
        moments = sorted({min(step.records) for step in steps}, reverse=True)
        enough = fewest(len(moments), lambda count: self.attempt(self._since(moments[count - 1])).healed)
        if enough and not self.history.reaches(moments[enough - 1]):
            self.say("the log no longer has the right version of some bytes; they get the oldest one it has")
        return self._since(moments[enough - 1]) if enough else None

    def _since(self, moment: int) -> Records:
        return frozenset(self.history.changes[self.history.changes >= moment].tolist())
