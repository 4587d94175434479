"""The HTML report in a real Chromium: it is quick, can be used by keyboard, and runs nothing of what it shows.

Needs the extra `browser` and Debian's chromium, or the one that CHROMIUM names; `make test` gets both where it can.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from powercut.report.formats import Setting
from powercut.report.html import render
from powercut.runs.store import SavedRun, load_run
from tests.cli.kit import World
from tests.unit.report_kit import ROOT, hostile_run, sample_run

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="there is no playwright: pip install '.[browser]'")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: tools/system-packages.sh browser"),
    pytest.mark.xdist_group("browser"),  # which is started once
]
PHONE = {"width": 360, "height": 700}
READABLE = 4.5  # contrast of text that WCAG asks for (AA)
ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>"

# The contrast of each visible text with what is behind it; the worst, with its text.
CONTRAST = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const linear = (c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (rgb(colour)[3] === 255) return colour;
    }
    return "white";
  };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
    if (!own || !element.checkVisibility() || element.closest("script")) continue;
    const two = [getComputedStyle(element).color, behind(element)].map((colour) => light(rgb(colour)));
    const ratio = (Math.max(...two) + .05) / (Math.min(...two) + .05);
    if (ratio < worst[0]) worst = [ratio, own];
  }
  return worst;
}"""


@dataclass(slots=True)
class Shown:
    """A page in the browser, what it complained of, and what it asked the network for."""

    page: Any
    told: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def visible(self) -> int:
        """How many problems are listed."""
        return int(self.page.locator("details.problem:visible").count())

    def worst_contrast(self) -> tuple[float, str]:
        """Of all texts; what is shown by moving is shown first."""
        ratio, text = self.page.evaluate(CONTRAST)
        return float(ratio), str(text)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of powercut, in which files have names and contents that attack a page."""
    world = World.make(tmp_path_factory.mktemp("real"))
    (world.data / "notes").write_text("one\ntwo\nthree\n")
    name = f"data/{ATTACK.replace('/', '_')}"
    save = f"printf 'one\\n{ATTACK}\\nthree\\n' > data/n.tmp && mv data/n.tmp data/notes && echo '{ATTACK}' >> '{name}'"
    check = 'grep -q three notes || { cat notes; echo "<script>alert(3)</script>"; exit 1; }'
    (world.here / "check").write_text(check)
    ended = world.test("--fs", "xfs", workload=save)
    assert ended.code == 1, ended.err
    weighed = world.run("syncs", "--trace", ".powercut/runs/0001/trace", "--check", "sh check", "--fs", "xfs")
    assert weighed.code in (0, 1), weighed.err
    return world.here / ".powercut" / "runs" / "0001"


def show(browser: Any, run: SavedRun, folder: Path, saved: Path | None = None, **options: Any) -> Shown:
    """A run in the browser; its evidence comes from the folder where it is saved."""
    (folder / "r.html").write_bytes(render(run, Setting(ROOT, saved or folder)))
    shown = Shown(browser.new_page(**options))
    shown.page.on("console", lambda message: shown.told.append(message.text))
    shown.page.on("pageerror", lambda error: shown.told.append(str(error)))
    shown.page.on("dialog", lambda dialog: (shown.told.append("a dialog"), dialog.dismiss()))
    shown.page.on("request", lambda request: shown.asked.append(request.url))
    shown.page.goto((folder / "r.html").as_uri())
    return shown


def test_search_and_filter(browser: Any, tmp_path: Path) -> None:
    shown = show(browser, sample_run(), tmp_path)
    assert shown.page.inner_text("#count") == "3 of 3 shown"
    shown.page.fill("#search", "unsynced DATA")
    assert (shown.page.inner_text("#count"), shown.visible) == ("1 of 3 shown", 1)
    shown.page.fill("#search", "")
    shown.page.uncheck("input[data-level=error]")
    assert shown.visible == 1
    shown.page.check("input[data-level=error]")
    assert shown.visible == 3
    assert shown.told == []


def test_the_keyboard_does_it_all(browser: Any, tmp_path: Path) -> None:
    page = (shown := show(browser, sample_run(), tmp_path)).page
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    assert page.locator("details.problem[open]").count() == 2
    assert page.evaluate("document.activeElement.closest('details').id") == "506f920b"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('details').id") == "4b9265cf"
    page.keyboard.press("a")
    assert page.locator("details.problem[open]").count() == 3
    page.keyboard.press("a")
    assert page.locator("details.problem[open]").count() == 0
    page.keyboard.press("/")
    page.keyboard.type("jakt")  # letters, not commands
    assert page.input_value("#search") == "jakt"
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert shown.told == []


def test_sections_and_findings_have_addresses(browser: Any, tmp_path: Path) -> None:
    page = show(browser, sample_run(), tmp_path, viewport={"width": 1200, "height": 400}).page
    for link in page.locator("nav a").all():
        link.click()
        section = page.locator(str(link.get_attribute("href")))
        assert section.locator("h2").is_visible() and section.bounding_box()["y"] < 400
    page.goto((tmp_path / "r.html").as_uri() + "#506f920b")
    page.reload()
    assert page.locator("details[id='506f920b'][open]").count() == 1
    assert page.evaluate("document.activeElement.closest('details').id") == "506f920b"


def test_light_and_dark_are_both_readable(browser: Any, real: Path, tmp_path: Path) -> None:
    page = (shown := show(browser, load_run(real), tmp_path, real, color_scheme="dark")).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    assert sum(map(int, dark[4:-1].split(","))) < 120
    assert (worst := shown.worst_contrast())[0] >= READABLE, worst
    page.click("#theme")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert (worst := shown.worst_contrast())[0] >= READABLE, worst


def test_the_difference_marks_lines_and_bytes(browser: Any, real: Path, tmp_path: Path) -> None:
    page = show(browser, load_run(real), tmp_path, real).page
    assert page.locator(".file", has_text="notes").locator(".change").first.inner_text() == "changed"
    assert page.locator(".story .lost").count() > 0 and page.locator(".story .cut").count() == 1
    page.evaluate("document.querySelectorAll('.diff').forEach((one) => { one.open = true; })")
    lost = page.locator("table.bytes:visible tr.was mark")
    assert "".join(lost.all_inner_texts()).startswith(b"one\n<img".hex())  # whatever came in its place
    natural = page.locator("img.picture").first
    natural.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('img.picture').naturalWidth > 200")
    assert page.locator("#syncs, #coverage").count() == 2


def test_hostile_names_and_contents_run_nothing_and_fetch_nothing(browser: Any, real: Path, tmp_path: Path) -> None:
    for run, saved in ((hostile_run(ATTACK), None), (load_run(real), real)):
        shown = show(browser, run, tmp_path, saved)
        shown.page.keyboard.press("a")
        shown.page.fill("#search", "onerror")
        shown.page.wait_for_load_state("networkidle")
        assert shown.told == []
        assert all(url.startswith(("file:", "data:image/svg+xml;base64,")) for url in shown.asked)
        assert len([url for url in shown.asked if url.startswith("file:")]) == 1
        assert shown.page.locator("img[src=x]").count() == 0 and shown.page.locator("script").count() == 1
        assert ATTACK.partition("><")[0] in shown.page.inner_text("main")


def test_500_findings_are_usable_in_two_seconds(browser: Any, real: Path, tmp_path: Path) -> None:
    run = load_run(real)
    run.findings = [deepcopy(run.findings[0]) for _ in range(500)]
    for number, finding in enumerate(run.findings):
        finding.id = f"{number:08x}"
    (tmp_path / "r.html").write_bytes(render(run, Setting(ROOT, real)))
    page, took = browser.new_page(), []
    while len(took) < 3 and min(took, default=2) >= 2:  # the others on this machine are not what is measured
        began = time.monotonic()
        page.goto((tmp_path / "r.html").as_uri())
        page.fill("#search", "000001f3")
        assert page.inner_text("#count").startswith("1 of 5")
        took.append(time.monotonic() - began)
    assert min(took) < 2
    assert page.locator("details.problem:visible").get_attribute("id") == "000001f3"


@pytest.mark.parametrize("kind", ["sample", "hostile", "real"])
def test_a_phone_needs_no_sideways_scrolling(browser: Any, real: Path, tmp_path: Path, kind: str) -> None:
    runs = {"sample": sample_run, "hostile": hostile_run, "real": lambda: load_run(real)}
    page = show(browser, runs[kind](), tmp_path, real if kind == "real" else None, viewport=PHONE).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_print_shows_all_in_black_on_white_and_leaves_the_page_as_it_was(browser: Any, tmp_path: Path) -> None:
    page = show(browser, sample_run(), tmp_path, color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible() and not page.locator(".tools").is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.problem[open]").count() == 3
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.problem[open]").count() == 1
    assert len(page.pdf()) > 10_000
