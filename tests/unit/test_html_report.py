"""The HTML report: one page on its own, in which nothing of the run is anything but text."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from powercut.image.state_image import StateImage, files_of
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.report.formats import Setting
from powercut.report.html import render
from powercut.report.html.images import compare_folders, differing_rows
from powercut.runs.store import SavedRun
from powercut.states.objects import ObjectKind
from powercut.states.state import Base, State
from powercut.states.timeline import Timeline
from tests.models.random_runs import RunMaker, to_trace
from tests.unit.report_kit import HOSTILE, ROOT, hostile_run, sample_run

NOWHERE = Setting(ROOT, Path("/nowhere"))


def page_of(run: SavedRun) -> html.HtmlElement:
    return html.fromstring(render(run, NOWHERE).decode())


def assert_harmless(page: html.HtmlElement) -> None:
    """One script, the page's own, allowed by its hash; no handlers, no addresses but of images inside the page."""
    (script,) = page.xpath("//script")
    wanted = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'") and f"script-src 'sha256-{wanted}'" in policy
    for element in page.iter():
        names = {str(name).lower() for name in element.attrib}
        assert not any(name.startswith("on") for name in names), element.attrib
        assert not names & {"action", "formaction", "srcdoc", "xlink:href"}
        assert re.fullmatch(r"#[a-z]+", element.get("href", "#x"))  # a section of the page, named by us
        assert element.get("src", "data:image/svg+xml;base64,").startswith("data:image/svg+xml;base64,")
        assert element.tag not in ("iframe", "object", "embed", "link", "base", "form", "svg")
        assert re.fullmatch(r"(flex-grow: \d+|padding-left: [\d.]+rem)?", element.get("style", ""))


def test_the_page_says_what_the_run_says() -> None:
    page = page_of(sample_run())
    text = page.text_content()
    assert page.xpath("//h1")[0].text == "1 finding"
    for words in (
        "4b9265cf",
        "call fdatasync(settings.json.new)",
        "powercut replay 0001/4b9265cf",
        "in the baseline: the user",
    ):
        assert words in text
    assert 'with open("settings.json.new", "w") as file:' in page.xpath("//*[@class='line here']")[0].text_content()
    levels = [entry.get("data-level") for entry in page.xpath("//details[@data-level]")]
    assert levels == ["error", "error", "warning"]
    assert "The crash images are missing: cannot read the trace /nowhere/trace" in text
    assert_harmless(page)


def test_hostile_texts_execute_nothing() -> None:
    page = page_of(hostile_run())
    assert_harmless(page)
    shown = HOSTILE.partition("\n")[0]
    assert shown in page.text_content()
    assert not set("\x00\x1b\r") & set(render(hostile_run(), NOWHERE).decode())


@settings(max_examples=40)
@given(st.text())
def test_no_text_breaks_the_page(text: str) -> None:
    assert_harmless(page_of(hostile_run(text)))


def test_the_harmless_question_can_be_answered_with_no() -> None:
    text = render(sample_run(), NOWHERE).decode()
    for bad in ("<img src=x onerror=y>", "<script>1</script>", "<a href='javascript:1'>x</a>", "<p style='x:url(y)'>"):
        with pytest.raises((AssertionError, ValueError)):
            assert_harmless(html.fromstring(text.replace("</main>", f"{bad}</main>")))


def test_an_empty_run_is_a_page_too() -> None:
    assert "Nothing tested" in page_of(SavedRun()).text_content()


def test_a_run_of_500_findings_is_written_quickly() -> None:
    run = sample_run()
    run.findings = [deepcopy(run.findings[0]) for _ in range(500)]
    for number, finding in enumerate(run.findings):
        finding.id = f"{number:08x}"
    start = time.process_time()
    content = render(run, NOWHERE)
    assert time.process_time() - start < 5
    assert len(content) < 8 << 20


def test_only_differing_rows_of_bytes_are_shown_and_marked() -> None:
    one, other = bytes(64), bytes(20) + b"\xff" + bytes(27)
    first, last = differing_rows(one, other)
    assert (first.offset, [i for i, (_, _, differs) in enumerate(first.after) if differs]) == (16, [4])
    assert (last.offset, len(last.before), len(last.after)) == (48, 16, 0)
    assert all(differs for _, _, differs in last.before)


def plain(image: StateImage) -> dict[bytes, object]:
    """Everything in an image, read whole."""

    def facts(obj: int) -> object:
        kind = image.kind(obj)
        content = image.read(obj, 0, image.size(obj)) if kind is ObjectKind.FILE else b""
        return kind, content, image.mode(obj), dict(image.xattrs(obj))

    return {path: facts(obj) for path, obj in files_of(image).items()}


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_what_is_shown_as_changed_is_what_differs(seed: int, choice: int) -> None:
    """The comparison reads only where images can differ; its twin reads all of both."""
    trace = to_trace(RunMaker(seed).make(8))
    timeline = Timeline(trace, FILE_SYSTEMS["posix"])
    point = timeline.points[choice % len(timeline.points)]
    pending = timeline.pending(point)
    crashed = timeline.without(pending[choice % 3 :: 2], point)
    whole = State(point, Base.ISSUED, frozenset())
    before, after = plain(StateImage(timeline, whole)), plain(StateImage(timeline, crashed))
    expected = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    found = compare_folders(timeline, whole, crashed)
    assert found.more_changed == 0
    changed = [(file.depth, file.path.encode()) for file in found.files if file.change]
    assert sorted(changed) == sorted((path.count(b"/"), path.rpartition(b"/")[2]) for path in expected)
    assert len(found.files) + found.more_same == len(before.keys() | after.keys())
