"""The reports of a healing: all of it is in them, each field is explained, and nothing of it is anything but text."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from powercut.findings.finding import Location
from powercut.report.heal_document import AttemptDocument, HealDocument, HealingDocument, HealOutcome, StepDocument
from powercut.report.html.heal import render
from powercut.report.location_document import location_document
from powercut.runs.store import to_json
from tests.unit.report_kit import HOSTILE, ROOT
from tests.unit.test_docs import keys
from tests.unit.test_html_report import assert_harmless


def report(text: str = "words", outcome: HealOutcome = HealOutcome.HEALED) -> HealDocument:
    """Two steps, of which the second one helped; with a text from outside wherever one can be."""
    place = location_document(Location(f"/src/{text}", 42, text, "made"))
    return HealDocument(
        version="1.2.3",
        pool=text,
        log=text,
        command=["./restart", text],
        failure="died of signal 11",
        incomplete=True,
        updates=200,
        steps=[StepDocument(place, 1.25, text, 3, 96, False), StepDocument(place, 61.0, text, 1, 8, True)],
        attempts=[
            AttemptDocument(0, "died of signal 11", False, 0.125, text),
            AttemptDocument(3, "exited with status 5", False, 0.1, text),
            AttemptDocument(1, "exited with status 0", True, 0.1, ""),
        ],
        outcome=outcome,
        healing=HealingDocument("purge", 0.5, 1, 8, 0.5) if outcome is not HealOutcome.PLANNED else None,
        undo=text if outcome is HealOutcome.HEALED else None,
    )


def rows(page: html.HtmlElement, section: str) -> list[list[str]]:
    return [
        [" ".join(cell.text_content().split()) for cell in row.xpath("td")]
        for row in page.xpath(f"//section[@id='{section}']//tbody/tr")
    ]


def test_the_page_shows_the_plan_and_the_attempts() -> None:
    page = html.fromstring(render(report("main.c")).decode())
    assert page.xpath("//h1")[0].text == "Healed"
    assert rows(page, "plan") == [
        ["1", "main.c:42 in main.c", "1.2 s", "3 updates, 96 bytes", "main.c", "kept"],
        ["2", "main.c:42 in main.c", "61.0 s", "1 update, 8 bytes", "main.c", "undone"],
    ]
    assert rows(page, "attempts") == [
        ["1", "0 updates", "died of signal 11", "0.1 s", "main.c"],
        ["2", "3 updates", "exited with status 5", "0.1 s", "main.c"],
        ["3", "1 update", "works", "0.1 s", ""],
    ]
    text = page.text_content()
    assert "without 1 of 200 updates (0.5 %, 8 bytes) it works: purge, 3 attempts, 0.5 s" in text
    assert "powercut heal --undo main.c" in text and "the plan may be incomplete" in text
    assert_harmless(page)


@pytest.mark.parametrize("outcome", HealOutcome)
def test_each_outcome_has_its_title(outcome: HealOutcome) -> None:
    page = html.fromstring(render(report(outcome=outcome)).decode())
    assert (page.xpath("//h1")[0].text == "Healed") == (outcome is HealOutcome.HEALED)
    assert ("--undo" in page.text_content()) == (outcome is HealOutcome.HEALED)
    assert ("undone" in page.text_content()) == (outcome is HealOutcome.HEALED)


@settings(max_examples=40)
@given(st.one_of(st.just(HOSTILE), st.text()))
def test_no_text_breaks_the_page(text: str) -> None:
    shown = render(report(text)).decode()
    assert_harmless(html.fromstring(shown))
    assert not set("\x00\x1b\r") & set(shown)


def test_the_json_report_holds_the_same() -> None:
    one = report()
    assert msgspec.json.decode(to_json(one), type=HealDocument) == one


def test_every_field_is_explained() -> None:
    page = Path(ROOT, "docs", "guard.md").read_text()
    assert not {key for key in keys(msgspec.to_builtins(report())) if f"`{key}`" not in page}
    assert not [outcome for outcome in HealOutcome if f"`{outcome}`" not in page]
