"""The HTML report in a real Chromium: it is quick, can be used by keyboard, and runs nothing of what it shows.

Needs the extra `browser` and Debian's chromium, or the one that CHROMIUM names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from powercut.report.formats import Setting
from powercut.report.html import render
from powercut.run.store import SavedRun
from tests.unit.report_kit import ROOT, hostile_run, sample_run

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def show(browser: Any, run: SavedRun, folder: Path, **options: Any) -> tuple[Any, list[str]]:
    """A page with a run on it, and what it complained of."""
    (folder / "r.html").write_bytes(render(run, Setting(ROOT, folder)))
    page, told = browser.new_page(**options), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("dialog", lambda dialog: (told.append("a dialog"), dialog.dismiss()))
    page.goto((folder / "r.html").as_uri())
    return page, told


def test_search_filter_keyboard_and_dark_mode(browser: Any, tmp_path: Path) -> None:
    page, told = show(browser, sample_run(), tmp_path)
    assert page.inner_text("#count") == "3 of 3 shown"
    page.keyboard.press("/")
    page.keyboard.type("unsynced data")
    assert page.inner_text("#count") == "1 of 3 shown"
    page.fill("#search", "")
    page.uncheck("input[data-level=error]")
    assert page.locator("details.problem:visible").count() == 1
    page.check("input[data-level=error]")
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    assert page.locator("details.problem[open]").count() == 2
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert told == []


def test_a_phone_needs_no_sideways_scrolling(browser: Any, tmp_path: Path) -> None:
    page, _ = show(browser, hostile_run(), tmp_path, viewport={"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_hostile_names_run_nothing_and_fetch_nothing(browser: Any, tmp_path: Path) -> None:
    page, told = show(browser, hostile_run("<img src=x onerror=alert(1)><script>alert(2)</script>"), tmp_path)
    page.locator("summary").first.click()
    assert told == []
    assert page.locator("img[src=x]").count() == 0


def test_500_findings_are_usable_in_two_seconds(browser: Any, tmp_path: Path) -> None:
    run = sample_run()
    run.findings = [deepcopy(run.findings[0]) for _ in range(500)]
    page, _ = show(browser, run, tmp_path)
    assert page.inner_text("#count") == "501 of 501 shown"
    page.fill("#search", "unsynced data")
    assert page.inner_text("#count") == "1 of 501 shown"
    assert page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 2000
