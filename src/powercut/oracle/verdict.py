"""Verdicts: what an oracle said about an image. Only PASS is a pass; whatever cannot be told is not."""

from __future__ import annotations

from enum import Enum

from powercut.quick_dataclass import dataclass


class Outcome(Enum):
    """How one run of an oracle ended."""

    PASS = "pass"
    FAIL = "fail"  # it said no: exit status, False, an exception
    CRASH = "crash"  # it died of a signal
    HANG = "hang"  # it did not end in time
    ERROR = "error"  # it could not be run at all: the environment's fault, never counted as a pass


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one oracle run and what it left to read."""

    outcome: Outcome
    code: int = 0  # exit status, or signal number for CRASH
    output: str = ""  # the end of what it printed, or the exception
    seconds: float = 0.0
    stack: tuple[str, ...] = ()  # where it died, innermost frame first, if that was asked for

    @property
    def passed(self) -> bool:
        """True only for a clean pass."""
        return self.outcome is Outcome.PASS
