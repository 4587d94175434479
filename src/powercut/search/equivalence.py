"""Which states need no run, because what the check would read in them was read before.

Before: a check that is a command, and states that are to be judged. After: a verdict for those whose answers lead to a
leaf of the decision tree; for all others, whether the run that judges them is to be watched.

It is sound for a check whose verdict depends on the data folder and on what the program had said, and on nothing else.
Samples are asked again, and some states that need no run are run all the same. A check that contradicts itself there
switches equivalence off, and all states that were not run are handed back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

from powercut.findings.questions import Question
from powercut.image.image import Images
from powercut.oracle.image_queries import Answers, Ask, Asked, UndecidableError
from powercut.oracle.protocol import Told
from powercut.oracle.verdict import Verdict
from powercut.search.decision_tree import DecisionTree, says_the_same
from powercut.search.jobs import Job, Result, Watching
from powercut.search.watch_cost import Economy
from powercut.search.watched_judging import words_told

FIRST_SAMPLE = 2  # this run of those that are watched is asked again ...
SAMPLE_EVERY = 32  # ... and then one of so many
SPOT_EVERY = 64  # of the states that need no run, the first and then one of so many is run to see
MOST_FAILURES = 3  # runs in a row that could not be understood
MOST_KEPT = 1_000_000  # states that are kept in order to be handed back

BLIND_AFTER = 1000  # states that need no run, some of which ran to see, until a check that reads nothing is believed

_BLIND = "the check never read the data folder, so its verdict is the same whatever a power cut does"
_ENDED = f"{_BLIND}; the search ended early"

Place = tuple[int, Question]  # a state of a timeline, with the output that it owes


class Equivalence:
    """What is known about one check, and what that saves."""

    def __init__(self, images: Sequence[Images], workers: int, *, always: bool = False) -> None:
        """`always`: also where watching the check costs more than it saves."""
        self._notes: list[str] = []
        self._images = images
        self._most_running = workers
        self._tree = DecisionTree()
        self._economy = Economy(workers, always=always)
        self._off = False
        self._watched = 0
        self._followed = 0
        self._looked = False  # at the data folder
        self._read = False  # anything at all that depends on a state
        self._not_understood = 0
        self._decided = 0
        self._skipped: list[Place] = []
        self._spots: dict[Place, Verdict] = {}
        self._words = lru_cache(maxsize=1024)(self._words_at)

    @property
    def notes(self) -> list[str]:
        """What the user should know."""
        if not self._followed or self._looked:
            return self._notes
        return [*self._notes, _ENDED if self.is_blind else _BLIND]

    @property
    def is_blind(self) -> bool:
        """Whether the check reads neither the data folder nor the output: more states show nothing more."""
        return not self._off and not self._read and self._decided >= BLIND_AFTER

    @property
    def learning(self) -> bool:
        """Whether runs are watched now."""
        first = self._watched == 0  # shows what kind of check it is, whatever that costs
        return not self._off and not self._tree.full and (first or self._economy.watching_pays)

    def waits(self, running: int) -> bool:
        """Whether it is better to wait for what is running: it may show that the next state need not run."""
        return running >= self._most_running and self.learning

    def decide(self, number: int, question: Question) -> Verdict | Watching:
        """The verdict on a state that needs no run; for others, how the run that judges it is to be watched."""
        if self._off:
            return Watching.NOT
        verdict = self._look_up(number, question) if self._economy.looking_up_pays else None
        if verdict is not None:
            self._decided += 1
            spot = self._decided % SPOT_EVERY == 1 or len(self._skipped) >= MOST_KEPT
            if not spot:
                self._skipped.append((number, question))
                self._economy.skipped()
                return verdict
            self._spots[number, question] = verdict
            return Watching.NOT
        if not self.learning:
            return Watching.NOT
        self._watched += 1
        sample = self._watched == FIRST_SAMPLE or self._watched % SAMPLE_EVERY == 0
        return Watching.AGAIN if sample else Watching.ONCE

    def _look_up(self, number: int, question: Question) -> Verdict | None:
        start = time.perf_counter()
        answers = Answers(self._images[number].image(question.state), self._words(number, question.output_ends))
        try:
            return self._tree.find(answers)
        except UndecidableError:
            return None
        finally:
            self._economy.looked_up(time.perf_counter() - start)

    def learn(self, job: Job, result: Result) -> list[Place]:
        """Take in a run; the states that must be run after all."""
        watched, verdict = result.watched, result.verdict
        expected = self._spots.pop((job.timeline, Question(job.state, job.output_until)), None)
        if watched is None:
            self._economy.ran(result.seconds)
        else:
            self._economy.watched(result.seconds, watched.plain)
        if self._off:
            return []
        differs = watched.differs if watched is not None else ""
        if expected is not None and not says_the_same(expected, verdict):
            differs = f"{expected.outcome.value} once, {verdict.outcome.value} another time, though it read the same"
        if watched is not None and not differs:
            differs = self._add(watched.asked, watched.why, verdict)
        return self._contradicted(differs) if differs else []

    def _add(self, asked: Asked | None, why: str, verdict: Verdict) -> str:
        """Add a run to the tree; how the check contradicts itself, if it does."""
        if asked is not None:
            self._not_understood = 0
            self._followed += 1
            self._looked |= any(
                path or ask == Ask.LIST for (ask, path, *_), _ in asked
            )  # every run stands in the folder
            self._read |= self._looked or any(ask in (Ask.PRINTED, Ask.SENT) for (ask, *_), _ in asked)
            return "" if self._tree.learn(asked, verdict) else "different verdicts, though it read the same"
        self._not_understood += 1
        if self._not_understood >= MOST_FAILURES:
            self._off = True
            self._notes.append(
                f"could not trace what the check reads ({why}), so equivalent states are tested one by one (slower)"
            )
        return ""

    def _contradicted(self, how: str) -> list[Place]:
        self._off = True
        self._notes.append(f"the check is not deterministic ({how}): every state is tested")
        skipped, self._skipped = self._skipped, []
        return skipped

    def _words_at(self, number: int, point: int) -> dict[int, bytes]:
        timeline = self._images[number]
        return words_told(Told(timeline.acked(point), timeline.sent(point)))
