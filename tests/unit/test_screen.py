"""The screen of a run: words and numbers of its summary, colour on a terminal, the sentence of a finding."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from powercut.findings.finding import Finding, FindingKind, Location
from powercut.findings.wording import message
from powercut.printable import counted
from powercut.report.paint import PLAIN, Colours, Role, paint_for
from powercut.report.run_text import run_text
from powercut.report.summary import behaviors_text, found_words, models_words, next_commands, summary_line
from powercut.runs.store import BehaviorCounts, SavedRun
from tests.unit.report_kit import STATE, sample_run


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def run_of(states: dict[str, Any], **more: Any) -> SavedRun:
    """A run that covered some states."""
    return SavedRun(states=states, model="ext4-ordered,xfs,btrfs", seconds=12.34, **more)


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (
            {"tested": 48, "equal": 53, "total": 101, "left": 0, "exhausted": True},
            "No findings. All 101 crash states covered: 48 tested, 53 identical to a tested one. 12.3 s.",
        ),
        (
            {"tested": 1204, "known": 3, "equal": 700, "equivalent": 5, "total": 1968, "left": 56},
            "No findings. 1,968 crash states: 1,204 tested, 3 cached, 700 identical to a tested one, 5 equivalent, "
            "56 not tested. 12.3 s.",
        ),
        (
            {"tested": 40, "estimate": {"log10": 27.2, "error": 0.1}},
            "No findings. About 10^27 crash states: 40 tested, the others not tested. 12.3 s.",
        ),
        ({"tested": 1, "total": None}, "No findings. Crash states: 1 tested. 12.3 s."),
        ({}, "Nothing tested. Crash states: 0 tested. 12.3 s."),
        (
            {"tested": 2, "total": 2, "exhausted": True, "unexplained": 1},
            "No findings. 1 failing state is not explained by any finding. All 2 crash states covered: 2 tested. "
            "12.3 s.",
        ),
    ],
)
def test_the_summary_can_be_read_alone(states: dict[str, Any], words: str) -> None:
    assert summary_line(run_of(states)) == words


def test_the_summary_is_the_last_line_and_next_commands_come_before_it() -> None:
    run = sample_run()
    lines = run_text(run, Path("runs/0001")).splitlines()
    assert lines[-1] == summary_line(run)
    assert [line.split("  ")[1] for line in next_commands(run, Path("runs/0001")).splitlines()[1:]] == [
        "powercut show 4b9265cf",
        "powercut replay 0001/4b9265cf",
        "powercut report 0001 --html report.html",
    ]


def test_next_commands_know_where_the_runs_are() -> None:
    run = sample_run()
    run.findings[0].replay += " --output 'my runs'"
    assert "powercut show 4b9265cf --output 'my runs' " in next_commands(run, Path("my runs/runs/0001"))
    run.findings = run.findings[1:]  # in the baseline
    assert (next_commands(run, Path("0001")), found_words(run)) == ("", "1 finding (all in the baseline)")


def test_other_models_are_named_where_nothing_was_found() -> None:
    run = run_of({"tested": 1})
    assert models_words(run) == "Models: ext4-ordered, xfs, btrfs. Other models: --fs all"
    run.findings = sample_run().findings
    assert models_words(run) == "Models: ext4-ordered, xfs, btrfs"
    assert models_words(SavedRun(model="xfs")) == "Models: xfs"


def test_likely_bugs_of_lint_do_not_contradict_no_findings() -> None:
    run = sample_run()
    run.findings = []
    text = run_text(run, Path("RUN"))
    assert "Lint reports 1 likely bug (not tested; does not change the exit code): powercut lint RUN/trace" in text
    assert text.splitlines()[-1].startswith("No findings. ")
    run.misuses[0].finding = "4b9265cf"
    assert "(confirmed by finding 4b9265cf)" in run_text(run, Path("RUN"))


def test_behaviors_are_shown_on_demand() -> None:
    numbers = dict.fromkeys(("in_parts", "with_whole_operations", "a_few_operations_at_a_time", "left_out"), 0)
    found = BehaviorCounts(
        model="xfs", told_by=["types"], behaviors=3, shapes=2, groups=1, reached=1, explored=1, states=14,
        functions_left_out=0, **numbers,
    )  # fmt: skip
    run = run_of({"tested": 1}, behaviors=[found])
    words = "Behaviors (xfs): 3 seen, 2 distinct, in 1 group; 1 tested, 1 of them fully (14 states). Grouped by types."
    assert behaviors_text(run) == words
    assert words in run_text(run, Path("RUN"), verbose=True)
    assert words not in run_text(run, Path("RUN"))


def test_colour_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert paint_for(io.StringIO()) is paint_for(None) is PLAIN
    assert isinstance(paint_for(Terminal()), Colours)
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint_for(Terminal()) is PLAIN
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert paint_for(Terminal()) is PLAIN


def test_colour_changes_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    monkeypatch.setenv("COLUMNS", "200")
    run = sample_run()
    plain, painted = run_text(run, Path("RUN")), run_text(run, Path("RUN"), Colours())
    assert "\x1b" not in plain
    assert click.unstyle(painted) == plain
    assert click.style("4b9265cf", bold=True) in painted
    assert Colours()(Role.FIX, "x") == click.style("x", fg="green")


def place(role: str, what: str, line: int = 3) -> Location:
    return Location("/app/save.py", line, "save", role, what)


def finding(kind: FindingKind, *places: Location, outcome: str = "fail", code: int = 1, output: str = "") -> Finding:
    return Finding(kind, "", list(places), None, [], [], STATE, outcome, code, output)


RENAME = "the rename of a to b"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            finding(FindingKind.DURABILITY, place("lost", RENAME), place("acknowledged", "the output 'saved'", 4)),
            "The program printed 'saved' (save.py:4) before the rename of a to b (save.py:3) was durable. A power cut "
            "can undo the rename, and then the check fails.",
        ),
        (
            finding(
                FindingKind.DURABILITY,
                place("lost", "bytes 64 to 72 of pool"),
                place("acknowledged", "the message 'ok' to a socket", 4),
            ),
            "The program sent 'ok' to a socket (save.py:4) before bytes 64 to 72 of pool (save.py:3) were durable. A "
            "power cut can undo that, and then the check fails.",
        ),
        (
            finding(FindingKind.DURABILITY, place("missing", RENAME), place("acknowledged", "the output 'x'", 2)),
            "The program printed 'x' (save.py:2) before the rename of a to b (save.py:3). If the power fails in "
            "between, the check fails.",
        ),
        (
            finding(FindingKind.DURABILITY, place("acknowledged", "the output 'x'")),
            "The program printed 'x' (save.py:3) but had written nothing. If the power fails then, the check fails.",
        ),
        (
            finding(FindingKind.RECOVERY, place("lost", RENAME), outcome="crash", code=11),
            "If a power cut loses the rename of a to b (save.py:3), the check crashes (signal 11).",
        ),
        (
            finding(
                FindingKind.ATOMICITY,
                place("lost", "bytes 0 to 20 of log"),
                place("survived", "the growth of log to 20 bytes"),
            ),
            "save.py:3 is not atomic: a power cut can keep the growth of log to 20 bytes and lose bytes 0 to 20 of "
            "log. Then the check fails.",
        ),
        (
            finding(
                FindingKind.UNPERSISTED,
                place("lost", "the write of 8 bytes to a"),
                place("survived", RENAME, 5),
                code=0,
                output="b is empty",
            ),
            "A power cut can keep the rename of a to b (save.py:5) and lose the write of 8 bytes to a (save.py:3). "
            "Then b is empty.",
        ),
    ],
)
def test_sentences_are_active_and_say_what_is_lost(found: Finding, words: str) -> None:
    assert message(found) == words


def test_things_are_counted() -> None:
    assert [counted(number, "state") for number in (0, 1, 1234)] == ["0 states", "1 state", "1,234 states"]
