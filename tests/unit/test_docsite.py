"""The reference of the site is made from the code, and leaves nothing out."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from docsite import c_api, commands, json_report, messages, python_api, settings, survey_reports

import powercut
from powercut.commands.main import COMMANDS, cli
from powercut.settings import Settings

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_command_and_option_is_listed() -> None:
    page = commands.reference()
    for name in COMMANDS:
        section = page.partition(f"## powercut {name}\n")[2].partition("\n## ")[0]
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        assert [option for option in options if option not in section] == [], name
        assert "```sh\n" in section, f"powercut {name} has no example"


def test_every_setting_has_a_meaning() -> None:
    rows = settings.reference().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [field.encode_name for field in msgspec.structs.fields(Settings)]
    assert all(len(row.rsplit("|", 2)[1].split()) > 1 for row in rows)


def test_every_call_of_the_c_api_is_listed_and_nothing_of_its_inside() -> None:
    header, page = c_api.HEADER.read_text(), c_api.reference()
    calls = set(re.findall(r"^#define (pc_\w*[a-z])\(", header, re.MULTILINE))
    assert {call for call in calls if f"{call}(" not in page} == set()
    assert not re.findall(r"pc_\w+_\(", page)


def test_json_report_lists_each_kind_of_object() -> None:
    page = json_report.reference()
    assert "| `findings` | array of [FindingDocument](#findingdocument) |" in page
    assert "| `check` | array of string or null |" in page
    titles = {title.lower() for title in re.findall(r"^## (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= titles


def test_python_api_lists_what_is_offered() -> None:
    page = python_api.reference()
    assert re.findall(r"^## powercut\.(\w+)$", page, re.MULTILINE) == powercut.__all__
    assert "- `workload`: the program: a command as an argument list" in page


def test_messages_are_listed_as_they_are_printed() -> None:
    assert "| `unknown-fs` | unknown file-system model …. |" in messages.reference()
    assert messages.messages()["no-such-folder"].files == {"private_copy.py"}


def test_every_reference_has_a_page() -> None:
    marks = {
        mark
        for page in DOCS.rglob("*.md")
        for mark in re.findall(r"^<!-- reference: (.+) -->$", page.read_text(), re.MULTILINE)
    }
    hooks = (Path(messages.__file__).parent / "hooks.py").read_text()
    assert marks == set(re.findall(r'^    "([a-z-]+)": \w+\.reference,$', hooks, re.MULTILINE))


def test_the_survey_leads_to_the_reports_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tinydb").mkdir()
    (tmp_path / "tinydb" / "report.html").write_text("")
    (tmp_path / "git").mkdir()
    monkeypatch.setattr(survey_reports, "RUNS", tmp_path)
    assert survey_reports.reports() == {"survey/tinydb.html": tmp_path / "tinydb" / "report.html"}
    page = survey_reports.with_links("### git\n\nText.\n\n### tinydb\n\nText.\n")
    assert page == "### git\n\nText.\n\n### tinydb\n\n[The report of this run](survey/tinydb.html)\n\nText.\n"
