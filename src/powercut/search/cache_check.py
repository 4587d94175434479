"""Recalling verdicts of earlier runs, with care: a few are asked for again, to see whether the check still says so.

A check's fingerprint does not see everything that makes it what it is (libraries, services, the clock). So the first
kept verdicts of either kind that a run meets, and later one of many, are treated as if they were not known. If the
check then says something else, nothing that was kept counts: `CheckChangedError`.
"""

from __future__ import annotations

from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.verdict_cache import Key, VerdictCache

FIRST = 3  # kept verdicts that are asked for again: of passes, and of refusals
EVERY = 64  # and one of so many later ones
_PLAIN = (Outcome.PASS, Outcome.FAIL)


class CheckChangedError(Exception):
    """The check does not say what it said in an earlier run, though it looks the same."""


class CacheCheck:
    """What one run takes from earlier ones, and leaves to later ones."""

    def __init__(self, kept: VerdictCache | None = None, *, resumed: bool = False) -> None:
        """`resumed`: what was kept is this run's own, from before it was stopped: nothing is asked for again."""
        self.active = kept is not None
        self.resumed = resumed
        self._kept = kept
        self._met = {True: 0, False: 0}  # passes, refusals
        self._expected: dict[Key, Verdict] = {}

    def find(self, key: Key) -> Verdict | None:
        """A verdict that need not be asked for."""
        verdict = self._kept.find(key) if self._kept is not None else None
        if verdict is None:
            return None
        number = self._met[verdict.passed]
        self._met[verdict.passed] += 1
        if not self.resumed and (number < FIRST or number % EVERY == 0):
            self._expected[key] = verdict
            return None
        return verdict

    def learn(self, key: Key, verdict: Verdict, before: Verdict | None) -> None:
        """Keep what an oracle said, if it is sure; `before` is what it did when it died or hung and was asked again."""
        expected = self._expected.pop(key, None)
        if expected is not None and (expected.outcome, expected.code) != (verdict.outcome, verdict.code):
            raise CheckChangedError
        sure = verdict.outcome in _PLAIN if before is None else before.outcome is verdict.outcome
        if self._kept is not None and sure:
            self._kept.keep(key, verdict)
