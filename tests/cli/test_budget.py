"""A budget bounds explaining, too: a finding that there was no time for has its lines, replays, and says so."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.cli.kit import World

FILES = 24
BUDGET = 4.0
# Any two of the first and the last files may be lost, not both: no single loss fails, so shrinking asks often.
CHECK = f"""\
sleep "$(cat HERE/pace)"
grep -q saved "$POWERCUT_ACKED" || exit 0
[ -s f3 ] || [ -s f{FILES - 2} ] || {{ echo "both are lost"; exit 1; }}
"""
WORKLOAD = f"for i in $(seq {FILES}); do echo $i > data/f$i; done; echo saved"


@pytest.fixture
def slow(world: World) -> World:
    """A world whose check takes as long as the file `pace` says."""
    (world.here / "check").write_text(CHECK.replace("HERE", str(world.here)))
    (world.here / "pace").write_text("1.2")
    return world


def report(world: World) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((world.here / "report.json").read_text())
    return found


def test_explaining_ends_with_its_share_of_the_budget_and_can_go_on(slow: World) -> None:
    started = time.monotonic()
    ended = slow.test("--budget", f"{BUDGET:g}s", "--no-equivalence", "--json", "report.json", workload=WORKLOAD)
    assert time.monotonic() - started < 5 * BUDGET  # all questions together would take far longer
    (finding,) = report(slow)["findings"]
    assert ended.code == 1 and finding["cut_short"]
    said = " ".join(ended.out.split())  # lines are wrapped
    assert "provisional" in said and "powercut resume" in said
    assert finding["locations"] and finding["replay"]
    assert slow.run("replay", finding["id"]).code == 1
    (slow.here / "pace").write_text("0")
    assert slow.run("resume", "--budget", "60s", "--max-states", "40", "--json", "report.json").code == 1
    explained = [finding for finding in report(slow)["findings"] if not finding["cut_short"]]
    assert explained and len(explained[0]["lost"]) <= len(finding["lost"])
    assert report(slow)["states"]["unexplained"] == 0
