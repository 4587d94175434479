"""When a finding counts as gone with its fix: not as long as anything is unknown that may be it."""

from __future__ import annotations

import pytest

from powercut.findings.finding import TriedOutcome
from powercut.settings import Settings
from powercut.testing.try_fix import _ended_by_itself, _outcome
from tests.unit.report_kit import sample_run


@pytest.mark.parametrize(
    ("unknown", "outcome"),
    [({}, "gone"), ({"unanswered": 1}, "not seen again"), ({"unexplained": 1}, "not seen again")],
    ids=["all is known", "the check hung", "a failing state is not explained"],
)
@pytest.mark.parametrize("seconds", [1.0, 100.0])
def test_unknown_is_not_gone(unknown: dict[str, int], outcome: str, seconds: float) -> None:
    run = sample_run()
    finding = run.findings[0]
    finding.reached, run.seconds = 4, 100.0 if "unanswered" in unknown else seconds
    run.states |= unknown
    assert _outcome(finding, run, None, ended=_ended_by_itself(run, Settings())) is TriedOutcome(outcome)
