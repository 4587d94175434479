"""A budget bounds explaining, too: a finding that there was no time for has its lines, replays, and says so."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from tests.cli.kit import World

FILES = 24
BUDGET = 4.0
SLOW_MACHINE = 15.0  # seconds that starting and ending may take under load
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


HANGING = "[ -s f1 ] || sleep 64"


def test_a_run_ends_soon_after_its_budget_even_if_the_check_hangs(world: World) -> None:
    (world.here / "check").write_text(HANGING)
    started = time.monotonic()
    options = ["--budget", "2s", "--timeout", "60", "--json", "report.json"]
    ended = world.test(*options, workload="echo 1 > data/f1; echo saved")
    assert time.monotonic() - started < 2 + 5 + SLOW_MACHINE
    assert "the check was still running on " in ended.err and "--timeout" in ended.err
    assert "sleep 64" not in world.running()
    states, doubts = report(world)["states"], report(world)["doubts"]
    assert (ended.code, states["unanswered"] > 0, states["exhausted"]) == (4, True, False)
    assert "No findings. No verdict on " in ended.out and f"powercut replay 0001/{doubts[0]['id']}" in ended.err
    (world.here / "check").write_text("[ -s f1 ]")
    assert world.run("replay", doubts[0]["id"]).code == 1  # it is the state that is told


def test_a_check_that_hung_once_fails_if_there_is_no_time_to_ask_again(world: World) -> None:
    (world.here / "check").write_text(HANGING)
    options = ["--budget", "2s", "--timeout", "3", "--no-equivalence", "--json", "report.json"]
    ended = world.test(*options, workload="echo 1 > data/f1; echo saved")
    (finding,) = report(world)["findings"]
    assert ended.code == 1 and finding["cut_short"] and "hangs" in finding["message"], finding["message"]


def test_each_stage_is_told_with_its_share(world: World) -> None:
    ended = world.test("-v", "--json", "report.json")
    stages = report(world)["stages"]
    assert list(stages) == ["recording", "preparing", "search", "explaining", "counting", "lint"]
    assert sum(stages.values()) == pytest.approx(report(world)["seconds"], abs=0.5)
    assert "\nTime: recording " in ended.out and " %), search " in ended.out


def test_a_program_that_takes_the_budget_is_told(world: World) -> None:
    ended = world.test("--budget", "2s", workload="sleep 2; echo 1 > data/f1; echo saved")
    assert re.search(
        r": recording took \d\.\d s of the budget of 2s; 2.0 s are left to prepare and search\n", ended.err
    )
    assert "recording took" not in world.test("--budget", "30s").err
