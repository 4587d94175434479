"""Races in every form of a report: they fit the schemas, unconfirmed ones fail nothing, and no text means more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from lxml import etree
from rich.console import Console

from powercut.errors import ExitCode, UsageError
from powercut.findings.finding import Finding, FindingKind, Fix, Location, Race, StackFrame
from powercut.report import json_report, junit, sarif
from powercut.report.formats import FORMATS
from powercut.report.problems import Outcome, verdict
from powercut.report.race import raced_table
from powercut.report.run_text import run_text
from powercut.report.terminal import progress_line
from powercut.runs.replay import rebuild_timeline
from powercut.runs.store import SavedRun, load_run, save_run
from powercut.search.events import Raced
from powercut.testing.run_figures import exit_code
from tests.unit.report_kit import HOSTILE, STATE, place, setting_of
from tests.unit.test_report_formats import NOWHERE, junit_schema, sarif_schema

COUNTS = {"executions": 12, "alias_pairs": 3, "blocks": 40, "inter_candidates": 4, "bugs": 1}


def race_run(*severities: str) -> SavedRun:
    findings = [race_finding(f"1234567{number}", severity) for number, severity in enumerate(severities)]
    allowed = [("log.c:append", "checksummed", 3)]
    return SavedRun(command=["./store"], findings=findings, race={**COUNTS, "allowed": allowed}, model="ext4+px86")


def race_finding(name: str, severity: str) -> Finding:
    places = [place(8, "stored", "bytes 0 to 8"), place(9, "read", ""), place(10, "effect", "bytes 64 to 72")]
    standing = "bug" if severity == "error" else "unconfirmed"
    race = Race(
        standing, "nothing repairs it", 1, 2, f"races/{name}/seed", f"races/{name}/schedule.json", "load 1 waits"
    )
    words = {"outcome": "pass", "code": 0, "output": ""}
    made = Finding(FindingKind.INTER_THREAD, "m", places, Fix("flush it", False), ["a"], ["b"], STATE, **words)
    made.severity, made.race, made.id, made.models = severity, race, name, ["px86"]
    return made


def hostile_race() -> SavedRun:
    run = race_run("error", "note")
    for finding in run.findings:
        assert finding.race is not None
        finding.race = replace(finding.race, why=HOSTILE, seed=HOSTILE, schedule=HOSTILE)
        finding.lost = finding.survived = [HOSTILE]
        finding.locations = [Location(f"/{HOSTILE}", 3, HOSTILE, "stored", HOSTILE, (StackFrame(HOSTILE),))]
    run.race["allowed"] = [(HOSTILE, HOSTILE, 1)]
    return run


@pytest.mark.parametrize("run", [race_run("error", "note"), race_run(), hostile_race()])
def test_reports_of_races_fit_their_schemas(run: SavedRun) -> None:
    sarif_schema().validate(json.loads(sarif.render(run, NOWHERE)))
    jsonschema.validate(json.loads(json_report.render(run, NOWHERE)), json_report.schema())
    junit_schema().assertValid(etree.fromstring(junit.render(run, NOWHERE)))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_report_shows_a_race(form, tmp_path: Path) -> None:
    run = race_run("error")
    assert b"12345670" in form.render(run, setting_of(run, tmp_path))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_hostile_words_of_a_race_are_only_text(form, tmp_path: Path) -> None:
    run = hostile_race()
    content = form.render(run, setting_of(run, tmp_path))
    assert form.name != "html" or b"<img src=x" not in content
    assert form.name != "github" or b"\n::error::x" not in content
    assert b"\x1b[" not in content


def test_the_text_has_both_stacks_the_schedule_the_input_and_what_was_allowed() -> None:
    text = run_text(race_run("error"), Path("RUN"))
    assert text.count("save at ") == 3
    for words in ("load 1 waits", "races/12345670/seed", "nothing repairs it", "log.c:append: checksummed (3)"):
        assert words in text
    assert "1 race. 12 executions, 3 alias pairs" in text


def test_unconfirmed_races_fail_nothing() -> None:
    assert exit_code(race_run("error")) is ExitCode.FINDINGS
    assert exit_code(race_run("note")) is ExitCode.NOTHING_FOUND
    assert verdict(race_run("note"))[0] is Outcome.PASSED
    assert "No races, 1 unconfirmed" in run_text(race_run("note"), Path("RUN"))


def test_a_run_without_an_execution_covered_nothing() -> None:
    run = SavedRun(race={"executions": 0})
    assert exit_code(run) is ExitCode.NOTHING_COVERED
    assert verdict(run)[0] is Outcome.UNKNOWN


def test_a_saved_run_is_read_back(tmp_path: Path) -> None:
    save_run(tmp_path, race_run("error", "note"))
    assert load_run(tmp_path).findings == race_run("error", "note").findings


@pytest.mark.parametrize("trace", ["../../etc/passwd", "/etc/passwd", "races/../../x"])
def test_a_trace_elsewhere_is_refused(tmp_path: Path, trace: str) -> None:
    with pytest.raises(UsageError, match="broken-run"):
        rebuild_timeline(tmp_path, replace(STATE, trace=trace))


def test_progress_is_a_line_or_a_table() -> None:
    assert progress_line(Raced(COUNTS, 2.5, 7.0)).startswith("12 executions, 3 alias pairs, 40 blocks")
    table = raced_table(COUNTS, 2.5, 7.0)
    assert [next(iter(column.cells)) for column in table.columns][:3] == ["12", "3", "40"]
    console = Console(width=78)  # beside what spins, in a usual terminal
    with console.capture() as shown:
        console.print(table)
    assert "…" not in shown.get()
