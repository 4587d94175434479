"""A check that crashed or hung is asked again: something else may have killed it, or kept the machine busy.

Before: the verdict of one run of a check. After: whether it must run once more. A second crash or hang is believed, a
pass the second time counts and is told. Once a hang was confirmed, later ones are believed at once: each costs a whole
time-out. How a check is stopped after its time-out stands in `oracle/command` and, for Python functions, in
`local_executor`.
"""

from __future__ import annotations

from collections.abc import Callable

from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.image_record import ImageRecord


class CrashOrHang:
    """What is believed of crashes and hangs in one search."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._hang_confirmed = False

    def recall(self, verdict: Verdict) -> None:
        """An earlier run left a verdict, which it had confirmed."""
        self._hang_confirmed |= verdict.outcome is Outcome.HANG

    def must_ask_again(self, record: ImageRecord, verdict: Verdict) -> bool:
        """Whether the verdict on an image is not believed yet."""
        before = record.first
        if before is not None:
            self._hang_confirmed |= verdict.outcome is Outcome.HANG
            if verdict.passed:
                how = f"crashed (signal {before.code})" if before.outcome is Outcome.CRASH else "hung"
                self._warn(f"the check {how} on an image, and passed when run again")
            return False
        doubtful = verdict.outcome is Outcome.CRASH or (verdict.outcome is Outcome.HANG and not self._hang_confirmed)
        if doubtful:
            record.first = verdict
        return doubtful
