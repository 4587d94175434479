"""Purge: which of the suspected updates to take back so that the service works, and as few others as possible.

Before: steps in the order of suspicion. After: the records that help, or the knowledge that no way of these does.

The first steps are taken back one at a time, each with what depends on it. If none of them helps alone, but after one
of them the restart fails in the same way for another reason, that one stays taken back, and what led to the new failure
is found in its turn. Otherwise more and more steps are taken back together: 2, 4, 8, ...; once that helps, what was not
needed is given back, found by halving. If it never helps, what else the same line made is suspected, too: a wrong line
may have written many records of which the restart meets only the first. Then older versions of the same bytes are
tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from powercut.guard.history import History
from powercut.heal.dependents import dependents, made_by_same_line
from powercut.heal.failing_restart import Attempt
from powercut.heal.heal_plan import Step, steps_for, together
from powercut.heal.references import References
from powercut.minimise import fewest, needed

ALONE = 24  # steps that are tried one at a time: a wrong one more may break what another one mends
FOLLOWED = 6  # failures one behind the other
LINES = 4  # lines of which all records are suspected
VERSIONS = 3  # how far back the versions of a byte are tried
Records = frozenset[int]


class Purge:
    """The ways of one search.

    `attempt` says how the restart goes without some records, and `explain` gives the steps for what is left then.
    """

    def __init__(
        self,
        history: History,
        references: References,
        attempt: Callable[[Records], Attempt],
        explain: Callable[[Attempt, Records], list[Step]],
    ) -> None:
        self._history, self._references = history, references
        self._attempt, self._explain = attempt, explain

    def first(self, steps: Sequence[Step]) -> Records | None:
        """One of some steps alone."""
        return next((records for step in steps if (records := self._alone(step.records)) is not None), None)

    def find(self, steps: list[Step]) -> Records | None:
        """Any way, and with what depends on what was found."""
        ways = (self._follow, self._alone_or_together, self._lines, self._older_versions)
        found = next((records for way in ways if (records := way(steps)) is not None), None)
        return found if found is None else self._with_dependents(found)

    def _alone(self, records: Records) -> Records | None:
        """Some records, or them with what depends on them, if the restart misses that."""
        if self._attempt(records).healed:
            return self._with_dependents(records)
        both = records | dependents(self._history, records, self._references)
        return both if both != records and self._attempt(both).healed else None

    def _with_dependents(self, records: Records) -> Records:
        """With what depends on them: what refers to an object that is no more."""
        both = records | dependents(self._history, records, self._references)
        return both if self._attempt(both).healed else records

    def _follow(self, steps: list[Step]) -> Records | None:
        """Steps one at a time, and on from the one after which the restart fails almost as before, but not quite."""
        taken, failed = Records(), self._attempt(Records())
        for _ in range(FOLLOWED):
            changed: dict[Records, float] = {}
            for records in (taken | step.records for step in steps[:ALONE]):
                found = self._alone(records)
                if found is not None:
                    return found
                attempt = self._attempt(records)
                if attempt.resembles(failed) and attempt.said != failed.said:
                    changed[records] = SequenceMatcher(None, attempt.said, failed.said).ratio()
            if not changed:
                return None
            taken = max(changed, key=changed.__getitem__)
            failed = self._attempt(taken)
            steps = self._explain(failed, taken)
        return None

    def _alone_or_together(self, steps: list[Step]) -> Records | None:
        alone = self.first(steps[:ALONE])
        return self._least(steps) if alone is None else alone

    def _lines(self, steps: list[Step]) -> Records | None:
        """What the lines that made the first suspects made at other times, the newest first."""
        lines: list[list[int]] = []
        for step in steps[:ALONE]:
            if len(lines) < LINES and not any(step.cause in line for line in lines):
                lines.append(made_by_same_line(self._history, step.cause))
        for line in lines:
            least = self._least(steps_for(self._history, ((record, "was made by the same line") for record in line)))
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

    def _least(self, steps: list[Step]) -> Records | None:
        """Of the first steps that help together those that are needed: the last one alone, most often."""
        enough = steps[: fewest(len(steps), lambda count: self._help_together(steps[:count]))]
        if not enough:
            return None
        return together([*needed(enough[:-1], self._help_together, enough[-1:]), *enough[-1:]])

    def _help_together(self, steps: Sequence[Step]) -> bool:
        return self._attempt(together(steps)).healed

    def _with_older(self, step: Step) -> Step:
        """A step with the version before: what last wrote the bytes that it writes."""
        table, older = self._history.log.records, set()
        for record in step.records:
            start = int(table["offset"][record])
            touching = self._history.overlapping(start, start + int(table["size"][record])).tolist()
            before = [index for index in touching if index < record and index not in step.records]
            older |= {part for newest in before[-1:] for part in self._history.parts_of(newest)}
        return Step(step.cause, step.records | older, step.why)
