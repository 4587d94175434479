"""A tour of representatives: the states of one behavior of each group, and how far it came.

Before: the behaviors of a timeline. After: first those states that show something new, of the smallest behaviors first,
then the others. What was reached and what was cut is kept with the tour, for the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from powercut.printable import counted
from powercut.states.behaviors.explore import WINDOW, Detail, detail_of, explore, with_few_kept, with_one_lost
from powercut.states.behaviors.find import MOST_SHAPES, Representatives
from powercut.states.behaviors.functions import HIGHEST
from powercut.states.behaviors.runs import MOST
from powercut.states.state import State


class BehaviorTour:
    """One way through the representatives of a timeline.

    Attributes:
        found: the behaviors.
    """

    def __init__(self, found: Representatives) -> None:
        self.found = found
        self._timeline = found.operations.timeline
        self._reached = 0  # groups of which some states were tested so far
        self._explored: list[Detail] = []  # how closely each group was explored of which all states were
        self._states = 0

    def states(self) -> Iterator[State]:
        """One behavior of each group survived in part: every closed set of its updates, the most telling ones first."""
        seen: set[tuple[int, int]] = set()
        new, every = len(self.found.new), len(self.found.groups)
        for state in chain(self._show_new(), self._explore(0, new), self._explore(new, every)):
            identity = self._timeline.identity(state)
            if identity not in seen:
                seen.add(identity)
                self._states += 1
                yield state

    def _show_new(self) -> Iterator[State]:
        """The states that show what no smaller behavior shows."""
        for number, losses in enumerate(self.found.new):
            yield from with_one_lost(self._timeline, self._reach(number), losses)

    def _explore(self, first: int, end: int) -> Iterator[State]:
        """The states of some groups: the few telling ones of each before all of any."""
        timeline, numbers = self._timeline, range(first, end)
        for number in numbers:
            yield from with_one_lost(timeline, self._reach(number))
        for number in numbers:
            yield from with_few_kept(timeline, self._reach(number))
        for number in numbers:
            detail = detail_of(timeline, self._reach(number))
            yield from explore(timeline, self._reach(number), detail)
            self._explored.append(detail)

    def _reach(self, number: int) -> list[list[int]]:
        """The updates of a representative, operation by operation; its group is reached by that."""
        self._reached = max(self._reached, number + 1)
        return self.found.groups[number].representative.updates(self.found.operations)

    def counts(self) -> dict[str, int]:
        """What was found and what was cut, for the report."""
        found, details = self.found, Counter(self._explored)
        return {
            "behaviors": found.behaviors,
            "shapes": found.shapes,
            "groups": len(found.groups),
            "new": len(found.new),
            "reached": self._reached,
            "explored": len(self._explored),
            "states": self._states,
            "in_parts": found.cut_runs,
            "with_whole_operations": details[Detail.OPERATIONS],
            "a_few_operations_at_a_time": details[Detail.WINDOWS],
            "left_out": found.left_out,
            "functions_left_out": found.too_high,
        }

    def notes(self) -> list[str]:
        """What the user should know: by what behaviors were told, and what was cut."""
        heuristics = self.found.heuristics
        told = [f"behaviors were told by {' and '.join(heuristics)}"] if heuristics else []
        return [*told, *self.cuts()]

    def cuts(self) -> list[str]:
        """What was left out or explored less closely than it could be."""
        found, counts = self.found, self.counts()
        cuts = {
            "in_parts": f"tested in parts (longer than {MOST} operations)",
            "with_whole_operations": "tested with whole operations only (too many states)",
            "a_few_operations_at_a_time": f"tested {WINDOW} operations at a time (too many states)",
            "left_out": f"left out (only {MOST_SHAPES:,} distinct ones are compared)",
        }
        notes = [f"{counted(counts[cut], 'behavior')} {words}" for cut, words in cuts.items() if counts[cut]]
        if found.too_high:
            notes.append(f"{counted(found.too_high, 'function')} left out (more than {HIGHEST} levels above others)")
        if 0 < self._reached < len(found.groups):
            missing = len(found.groups) - self._reached
            notes.append(f"{missing:,} of {counted(len(found.groups), 'group')} of behaviors not reached")
        return notes
