"""What is said about a sync: needed, redundant, or not covered by the check.

For one sync and one model, with all its executions taken away and everything else as it was:

  needed       a state that is possible only without it fails, and the same state with what it had made durable given
               back passes.
  redundant    nothing is lost without it. Each update that it makes durable is so already, or becomes so by another
               sync before the program changes or says anything that a power cut could show together with its loss: no
               state has an image, or an image and words, that no state had before. No check can tell the difference.
  not covered  neither: something is no longer durable in time, or not at all, and no state that was asked about
               fails for it. Either the check does not look, or it does no harm, or the state that would fail was
               not reached.

Each sync is judged with all others in place: two that stand in for each other are both redundant, together they may
not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from powercut.findings.finding import Finding
from powercut.quick_dataclass import dataclass
from powercut.syncs.sites import Site


class Need(StrEnum):
    """Whether a sync is needed."""

    NEEDED = "needed"
    NOT_COVERED = "not covered"
    REDUNDANT = "redundant"


class Why(StrEnum):
    """How that is known."""

    FAILS = "fails"  # needed: a state fails without it
    NOTHING_LEFT = "nothing left"  # redundant: all that it could make durable was durable
    IN_TIME = "in time"  # redundant: another sync makes it durable before anything relies on it
    NOTHING_FOLLOWS = "nothing follows"  # not covered: the run ends before anything relies on it
    ALL_PASS = "all pass"  # not covered: every state that is new without it passes
    TOO_MANY = "too many"  # not covered: all that were tested pass; there are more, which looked alike at last
    BUDGET = "budget"  # not covered: all that were tested pass, and the budget ended


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one model says about one sync.

    Attributes:
        model: its name.
        tested: how many images that are new without the sync were judged.
        broken: how many of these fail, but would with the sync, too.
        counted: how many executions made something durable in time that nothing else did.
        finding: what it prevents.
    """

    model: str
    need: Need
    why: Why
    tested: int = 0
    broken: int = 0
    counted: int = 0
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class SyncReport:
    """One sync, and what all models say about it."""

    site: Site
    judgements: Sequence[Judgement]

    @property
    def need(self) -> Need:
        """Needed if a model needs it; redundant if it is so for all."""
        return min((judgement.need for judgement in self.judgements), key=list(Need).index)

    @property
    def deciding(self) -> Judgement:
        """The judgement that says so."""
        return next(judgement for judgement in self.judgements if judgement.need is self.need)


@dataclass(frozen=True, slots=True)
class SyncsRun:
    """The table, and how it came about.

    Attributes:
        reports: needed ones first, each in the order of the run.
        tested: states judged.
    """

    reports: list[SyncReport]
    command: list[str]
    folder: str
    model: str
    tested: int
    seconds: float
    interrupted: bool
    notes: list[str]

    def count(self, need: Need) -> int:
        """How many syncs are judged so."""
        return sum(report.need is need for report in self.reports)

    @property
    def broken(self) -> int:
        """States that fail with every sync in place: the program has findings as it is."""
        return sum(judgement.broken for judgement in self._judgements)

    @property
    def unfinished(self) -> bool:
        """Whether the budget ended before all was asked."""
        return any(judgement.why is Why.BUDGET for judgement in self._judgements)

    @property
    def _judgements(self) -> list[Judgement]:
        return [judgement for report in self.reports for judgement in report.judgements]
