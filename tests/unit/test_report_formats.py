"""Reports in other forms: they fit their schemas, say what the run says, and mean nothing but themselves."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from markdown_it import MarkdownIt

from powercut.errors import UsageError
from powercut.report import github, json_report, junit, markdown, sarif
from powercut.report.formats import FORMATS, Setting, format_named
from powercut.report.html import own_text
from powercut.report.kind_texts import RULES
from powercut.report.problems import missing_sources
from powercut.report.run_text import run_text
from powercut.runs.store import SavedRun
from tests.unit.report_kit import HOSTILE, ROOT, hostile_run, sample_run, setting_of
from tests.unit.schemas import junit_schema, stored_schema

GOLD = Path(__file__).with_name("gold")
NOWHERE = Setting(ROOT, Path("/nowhere"))


def sarif_schema() -> jsonschema.Draft7Validator:
    """The schema of OASIS."""
    return stored_schema(sarif.SCHEMA)


@pytest.mark.parametrize("form", [*FORMATS, None], ids=lambda form: form.name if form else "text")
def test_reports_look_as_they_did(form: Any, tmp_path: Path) -> None:
    """A change of a report shows in a review. POWERCUT_GOLD=1 writes what there is now."""
    run = sample_run()
    setting = setting_of(run, tmp_path)
    content = form.render(run, setting) if form else run_text(run, Path("RUN")).encode()
    style, script = own_text("page.css"), own_text("page.js")  # the browser's tests look at these
    for text, name in ((str(tmp_path), b"RUN"), (str(ROOT), b"ROOT"), (style, b"STYLE"), (script, b"SCRIPT")):
        content = content.replace(text.encode(), name)
    content = re.sub(rb"'sha256-[^']+'", b"'sha256-HASH'", content)
    gold = GOLD / (form.name if form else "text")
    if os.environ.get("POWERCUT_GOLD"):
        gold.write_bytes(content)
    assert content.decode() == gold.read_text()


@pytest.mark.parametrize("run", [sample_run(), hostile_run(), SavedRun(), SavedRun(interrupted=True)])
def test_sarif_and_json_and_junit_fit_their_schemas(run: SavedRun) -> None:
    sarif_schema().validate(json.loads(sarif.render(run, NOWHERE)))
    jsonschema.validate(json.loads(json_report.render(run, NOWHERE)), json_report.schema())
    junit_schema().assertValid(etree.fromstring(junit.render(run, NOWHERE)))


def test_the_schemas_can_refuse() -> None:
    """Otherwise the test above would pass by comparing with nothing."""
    log = json.loads(sarif.render(sample_run(), NOWHERE))
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(jsonschema.ValidationError):
        sarif_schema().validate(log)
    report = json.loads(json_report.render(sample_run(), NOWHERE))
    del report["findings"][0]["id"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, json_report.schema())
    assert not junit_schema().validate(etree.fromstring(b"<testsuites><testsuite/></testsuites>"))


@settings(max_examples=40)
@given(st.text())
def test_no_text_breaks_a_form(text: str) -> None:
    run = hostile_run(text)
    sarif_schema().validate(json.loads(sarif.render(run, NOWHERE)))
    junit_schema().assertValid(etree.fromstring(junit.render(run, NOWHERE)))
    lines = github.render(run, NOWHERE).decode().split("\n")
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning", ""]
    assert elements(markdown.render(run, NOWHERE).decode()) <= ALLOWED


ALLOWED = {"details", "/details", "summary", "/summary"}


def elements(text: str) -> set[str]:
    """The HTML elements that a page of Markdown would have, beside those of Markdown itself; links count as one."""
    return set(_elements(MarkdownIt("gfm-like", {"linkify": False}).parse(text)))


def _elements(tokens: list[Any]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("html_block", "html_inline"):
            yield from re.findall(r"<(/?\w+)", token.content)
        elif token.type in ("link_open", "image"):
            yield token.type
        yield from _elements(token.children or [])


def test_markdown_says_which_likely_bugs_are_confirmed() -> None:
    run = sample_run()
    run.misuses = [run.misuses[0], copy.deepcopy(run.misuses[0])]
    run.misuses[1].finding = "4b9265cf"
    page = markdown.render(run, NOWHERE).decode()
    assert "(lint; 1 of 2 not tested; does not change the exit code)" in page
    assert page.count(r" \(confirmed by finding 4b9265cf\) |") == 1
    run.misuses = run.misuses[1:]
    assert "not tested" not in markdown.render(run, NOWHERE).decode()


def test_hostile_texts_stay_texts_in_markdown() -> None:
    page = markdown.render(hostile_run(), NOWHERE).decode()
    assert elements(page) == ALLOWED
    assert elements("a <b>c</b> [d](e)") == {"b", "/b", "link_open"}  # the question can be answered with no


def test_sarif_has_a_rule_with_help_for_each_result() -> None:
    (run,) = json.loads(sarif.render(sample_run(), NOWHERE))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in RULES]
    assert all(rule["help"]["text"] and rule["help"]["markdown"] for rule in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_rules_are_told_apart() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)


def test_sarif_has_the_stack_as_code_flow_from_outside_in() -> None:
    (run,) = json.loads(sarif.render(sample_run(), NOWHERE))["runs"]
    (flow,) = run["results"][0]["codeFlows"][0]["threadFlows"]
    places = [step["location"] for step in flow["locations"]]
    assert [place["message"]["text"] for place in places] == ["<module>", "save", "__libc_write at sysdeps/write.c:26"]
    regions = [place["physicalLocation"]["region"]["startLine"] for place in places[:2]]
    assert (regions, "physicalLocation" in places[2]) == ([14, 8], False)


def test_sarif_fingerprints_are_the_ids() -> None:
    (run,) = json.loads(sarif.render(sample_run(), NOWHERE))["runs"]
    marks = [result["fingerprints"]["powercut/v1"] for result in run["results"]]
    assert marks == ["4b9265cf", "506f920b", "c68fe6b9"]


def test_sarif_paths_below_the_root_are_relative_and_others_are_not() -> None:
    def uris(root: str) -> set[str]:
        (run,) = json.loads(sarif.render(sample_run(), Setting(Path(root), Path("/nowhere"))))["runs"]
        places = [place["physicalLocation"] for result in run["results"] for place in result["locations"]]
        return {place["artifactLocation"]["uri"] for place in places}

    assert uris(str(ROOT)) == {"corpus/demo/settings.py"}
    assert uris(str(ROOT / "corpus")) == {"demo/settings.py"}
    assert uris("/elsewhere") == {f"file://{ROOT}/corpus/demo/settings.py"}


def test_what_is_known_fails_no_report() -> None:
    run = sample_run()
    run.findings = run.findings[1:]
    results = json.loads(sarif.render(run, NOWHERE))["runs"][0]["results"]
    assert results[0]["suppressions"] == [{"kind": "external", "justification": "the user can save again"}]
    assert ElementTree.fromstring(junit.render(run, NOWHERE)).findall(".//failure") == []
    assert "506f920b" not in github.render(run, NOWHERE).decode()
    assert "No findings" in markdown.render(run, NOWHERE).decode().splitlines()[0]


@pytest.mark.parametrize(
    ("run", "kind"),
    [(SavedRun(), "unknown"), (SavedRun(interrupted=True, states={"tested": 3}), "interrupted")],
)
def test_a_search_that_says_nothing_is_no_pass(run: SavedRun, kind: str) -> None:
    (error,) = ElementTree.fromstring(junit.render(run, NOWHERE)).findall(".//error")
    assert error.get("type") == kind
    assert "✅" not in markdown.render(run, NOWHERE).decode()


def test_a_failed_assertion_fails_and_a_program_that_failed_is_no_pass() -> None:
    run = sample_run()
    run.findings, run.states, run.assertions = [], {}, {"operations": 5, "threads": 1, "ending": ""}
    run.misuses[0].pattern = "not-persisted"  # which no table of ours knows
    suite = ElementTree.fromstring(junit.render(run, NOWHERE))
    assert len(suite.findall(".//failure")) == 1 and not suite.findall(".//error")
    (log,) = json.loads(sarif.render(run, NOWHERE))["runs"]
    assert log["tool"]["driver"]["rules"][log["results"][0]["ruleIndex"]]["id"] == "not-persisted"
    assert b"5 operations of 1 thread checked" in markdown.render(run, NOWHERE)
    run.misuses, run.assertions["ending"] = [], "was ended by signal 9"
    (error,) = ElementTree.fromstring(junit.render(run, NOWHERE)).findall(".//error")
    assert error.get("message") == "The program was ended by signal 9"
    assert "✅" not in markdown.render(run, NOWHERE).decode()


def test_a_missing_source_is_told_and_only_its_text_is_missing() -> None:
    run = hostile_run()
    assert missing_sources(run) == [f"/{HOSTILE}"]
    assert missing_sources(sample_run()) == []
    results = json.loads(sarif.render(run, NOWHERE))["runs"][0]["results"]
    assert results[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}


def test_an_unknown_format_is_refused_with_a_guess() -> None:
    with pytest.raises(UsageError, match="Did you mean sarif") as caught:
        format_named("sarfi")
    assert caught.value.slug == "unknown-format"
