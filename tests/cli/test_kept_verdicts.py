"""A second run asks only about what is new, as long as the check is the same; no old verdict fools anybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powercut.search.verdict_cache import NAME
from tests.cli.kit import CHECK, World

OFTEN = "for i in 1 2 3 4; do printf new > data/f.tmp && mv data/f.tmp data/f && echo saved; printf $i > data/g; done"
MORE = OFTEN + "; printf more > data/h; printf most > data/i"
FEW = 9  # questions that a run asks in any case: the state without a crash, and whether the check says what it said


class Asking:
    """A world whose check counts how often it is asked."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked = world.here / "asked"
        (world.here / "check").write_text(f"echo >> {self.asked}; . {world.here}/rules")
        (world.here / "rules").write_text(CHECK)  # named by no word of the check

    def test(self, *options: str, workload: str = OFTEN, code: int = 1) -> tuple[int, dict[str, object]]:
        """How often the check was asked, and the report. What proves forks would count, too."""
        self.asked.write_text("")
        options = (*options, "--no-equivalence", "--no-fork-checks")
        ended = self.world.test(*options, "--json", "report.json", workload=workload)
        assert ended.code == code, ended
        report: dict[str, object] = json.loads((self.world.here / "report.json").read_text())
        report["text"], report["said"] = ended.out, ended.err
        return len(self.asked.read_text().splitlines()), report


@pytest.fixture
def asking(world: World) -> Asking:
    return Asking(world)


def essence(report: dict[str, object]) -> object:
    """The findings, without what tells one run from another."""
    findings = report["findings"]
    assert isinstance(findings, list)
    return [{key: value for key, value in finding.items() if key != "replay"} for finding in findings]


def test_a_second_run_asks_only_about_what_is_new(asking: Asking) -> None:
    first, before = asking.test()
    second, after = asking.test()
    assert first > 4 * FEW and second <= FEW
    assert essence(after) == essence(before)
    states, then = after["states"], before["states"]
    covered = [some["tested"] + some["known"] + some["equal"] for some in (states, then)]
    assert covered == [then["total"]] * 2
    assert (then["known"], states["exhausted"]) == (0, True)
    assert f", {states['known']} cached, " in str(after["text"])
    third, changed = asking.test(workload=MORE)
    assert third > FEW and changed["states"]["known"] > FEW


def test_no_cache_and_an_edited_check_ask_everything(asking: Asking) -> None:
    first, _ = asking.test()
    fresh, report = asking.test("--no-cache")
    assert (fresh, report["states"]["known"]) == (first, 0)
    with open(asking.world.here / "check", "a") as file:
        file.write("\n# edited")
    assert asking.test()[0] == first


def test_a_check_that_says_something_else_for_hidden_reasons_is_noticed(asking: Asking) -> None:
    first, report = asking.test()
    assert report["findings"]
    (asking.world.here / "rules").write_text("exit 0")
    asked, after = asking.test(code=0)
    assert after["findings"] == [] and after["states"]["known"] == 0
    assert "warning: the check disagrees with its cached verdicts; testing everything again" in after["said"]
    assert asked > first - 20  # a few were for the diagnosis


def test_a_damaged_file_is_said_and_costs_only_time(asking: Asking) -> None:
    first, before = asking.test()
    (asking.world.here / ".powercut" / NAME).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    again, after = asking.test()
    assert again == first and essence(after) == essence(before)
    assert f"warning: the cache {Path('HERE', '.powercut', NAME)} is damaged" in str(after["said"])
