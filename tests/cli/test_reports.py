"""Several reports at once, and from a saved run: what cannot be written takes nothing else with it."""

from __future__ import annotations

import base64
import json
import shutil
from xml.etree import ElementTree

import pytest
from lxml import html

from tests.cli.kit import ROW, SAFE, World

FILES = {"--json": "r.json", "--sarif": "r.sarif", "--junit": "r.xml", "--markdown": "r.md"}
ALL = [word for pair in FILES.items() for word in pair]


def test_all_reports_at_once_and_the_same_from_the_saved_run(world: World) -> None:
    ended = world.test(*ALL, "--github")
    assert ended.code == 1
    name = ended.out.split()[0]
    (annotation,) = [line for line in ended.out.splitlines() if line.startswith("::error")]
    assert f"title=powercut {name}%3A acknowledged but lost" in annotation
    at_the_end = {file: (world.here / file).read_bytes() for file in FILES.values()}
    assert all(name.encode() in content for content in at_the_end.values())
    for file in FILES.values():
        (world.here / file).unlink()
    later = world.run("report", *ALL, "--github")
    assert (later.code, later.out.splitlines()[0]) == (0, annotation)
    assert {file: (world.here / file).read_bytes() for file in FILES.values()} == at_the_end


def test_one_format_to_standard_output_or_a_file(world: World) -> None:
    assert world.test(workload=SAFE).code == 0
    shown = world.run("report", "--format", "junit")
    assert shown.code == 0 and ElementTree.fromstring(shown.out).find(".//failure") is None
    assert world.run("report", "1", "--format", "markdown", "-o", "m.md").out == ""
    assert (world.here / "m.md").read_text().startswith("## powercut: ✅ No findings")
    assert json.loads(world.run("report", "--schema").out)["title"] == "The JSON report of powercut"


def test_what_cannot_be_written_takes_nothing_with_it(world: World) -> None:
    ended = world.test("--sarif", "nowhere/r.sarif", "--junit", "r.xml", "--json", "gone/r.json", "--markdown", "r.md")
    assert ended.code == 3
    assert [line for line in ended.err.splitlines() if line.endswith("[output-unwritable]")] == [
        "powercut: cannot write gone/r.json: No such file or directory. [output-unwritable]",
        "powercut: cannot write nowhere/r.sarif: No such file or directory. [output-unwritable]",
    ]
    assert (world.here / "r.xml").exists() and (world.here / "r.md").exists()
    assert "1 finding. " in ended.out


def test_an_unknown_format_is_told_and_the_others_are_written(world: World) -> None:
    world.test()
    ended = world.run("report", "--format", "sariff", "--junit", "r.xml")
    assert (ended.code, ended.out) == (2, "")
    assert (
        ended.err.splitlines()[-1]
        == "powercut: there is no report format 'sariff'. Did you mean sarif? [unknown-format]"
    )
    assert (world.here / "r.xml").exists()


@pytest.mark.parametrize(("number", "age"), [(99, "a newer"), (0, "an older")])
def test_a_run_of_another_version_is_named(world: World, number: int, age: str) -> None:
    folder = world.here / ".powercut" / "runs" / "0001"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"format": number, "findings": "of another shape"}))
    ended = world.run("report", "--format", "sarif")
    assert ended.code == 2
    assert f"was saved by {age} powercut, in format {number}" in ended.err
    assert "powercut explore .powercut/runs/0001/trace" in ended.err


def test_a_missing_source_is_told_once(world: World) -> None:
    script = world.here / "save.py"
    script.write_text("import os\nopen('data/t', 'w').write('new')\nos.rename('data/t', 'data/f')\nprint('saved')\n")
    assert world.run("test", "--dir", "data", "--check", "sh check", "--", "python3", "save.py").code == 1
    script.unlink()
    assert "HERE/save.py has changed or is gone since this run." in world.run("report", "--format", "sarif").err
    shutil.rmtree(world.here / ".powercut" / "runs" / "0001" / "sources")
    ended = world.run("report", "--format", "sarif")
    assert (ended.code, ended.err) == (
        0,
        "powercut: warning: cannot read HERE/save.py: reports do not show these lines\n",
    )
    assert json.loads(ended.out)["runs"][0]["results"]


def test_wrong_requests_are_refused_before_the_program_runs(world: World) -> None:
    both = world.test("--sarif", "-", "--json", "-")
    assert (both.code, both.out) == (2, "")
    assert "only one report can go to standard output" in both.err
    assert world.runs() == []
    nothing = world.run("report")
    assert nothing.code == 2 and "choose what to write" in nothing.err


def test_the_html_page_shows_the_crash(world: World) -> None:
    assert world.test("--html", "r.html", "--fs", "xfs").code == 1
    page = html.fromstring((world.here / "r.html").read_text())
    text = page.text_content()
    assert "Around the power cut" in text and "What had to persist before what" in text
    assert page.xpath("//ol[@class='story']/li[@class='lost']") and page.xpath("//table[@class='bytes']//mark")
    for picture in page.xpath("//img/@src"):
        assert b"<svg" in base64.b64decode(picture.partition(",")[2])


def test_the_page_has_the_table_of_syncs_that_was_weighed_for_its_run(world: World) -> None:
    assert world.test("--fs", "xfs", "--html", "before.html", workload=SAFE).code == 0
    assert 'id="syncs"' not in (world.here / "before.html").read_text()
    trace = ".powercut/runs/0001/trace"
    assert world.run("syncs", "--trace", trace, "--check", "sh check", "--fs", "xfs").code == 0
    assert world.run("report", "--html", "r.html").code == 0
    (section,) = html.fromstring((world.here / "r.html").read_text()).xpath("//section[@id='syncs']")
    assert [cell.text_content() for cell in section.xpath(".//tbody//td[1]")] == ["needed", "needed"]
    assert "prevents durability" in section.text_content()
    (world.here / ".powercut" / "runs" / "0001" / "syncs.json").write_text('{"syncs": [{"need": "<b>"}]}')
    assert world.run("report", "--html", "broken.html").code == 0
    page = (world.here / "broken.html").read_text()
    assert "The table of syncs is missing: Invalid enum value" in page and 'id="coverage"' in page


def test_a_folder_with_a_table_of_syncs_only_is_no_run_and_says_what_it_is(world: World) -> None:
    words = ["syncs", "--dir", "data", "--check", "sh check", "--fs", "xfs", "--", "sh", "-c", SAFE]
    assert world.run(*words).code == 0
    ended = world.run("report", "1", "--html", "r.html")
    assert (ended.code, (world.here / "r.html").exists()) == (2, False)
    assert "It holds only a table of syncs" in ended.err


def test_a_trace_that_cannot_be_read_costs_the_images_only(world: World) -> None:
    assert world.test().code == 1
    trace = world.here / ".powercut" / "runs" / "0001" / "trace"
    for damage in (b"", b"PCUTTRAC" + bytes(4096), None):
        trace.unlink()
        if damage is not None:
            trace.write_bytes(damage)
        ended = world.run("report", "--html", "r.html", "--sarif", "r.sarif")
        assert (ended.code, ended.out) == (0, "")
        page = (world.here / "r.html").read_text()
        assert "The crash images are missing: " in page and "acknowledged but lost" in page
        assert (world.here / "r.sarif").exists()


def test_the_story_tells_what_was_said_and_synced_before_the_power_went(world: World) -> None:
    save = "printf new > data/t && sync data/t && mv data/t data/f && echo saved"  # and the directory is not synced
    assert world.test("--fs", "xfs", "--html", "r.html", workload=save).code == 1
    page = html.fromstring((world.here / "r.html").read_text())
    told = [item.get("class") for item in page.xpath("//ol[@class='story'][1]/li")]
    assert told.count("cut") == 1 and told.index("lost") < told.index("said") < told.index("cut")
    (synced,) = page.xpath("//ol[@class='story'][1]/li[@class='synced']/*[@class='what']")
    assert synced.text_content().startswith("fsync of ")


OVERWRITE = """
import os
for number in range(300):
    open(f"data/a{number}", "w").close()
os.chmod("data/a7", 0o600)
file = os.open("data/z", os.O_WRONLY)
os.pwrite(file, b"X" * 16, 2 << 20)
os.sync()
os.pwrite(file, b"Y" * 16, 2 << 20)
print("saved")
"""


def test_a_difference_far_inside_one_of_many_files_is_shown(world: World) -> None:
    (world.data / "z").write_bytes(bytes(3 << 20))
    (world.here / "check").write_text(
        'grep -q saved "$POWERCUT_ACKED" && ! grep -q YYYYYYYYYYYYYYYY z && exit 1; exit 0'
    )
    (world.here / "save.py").write_text(OVERWRITE)
    words = [
        "test",
        "--dir",
        "data",
        "--fs",
        ROW,
        "--check",
        "sh check",
        "--html",
        "r.html",
        "--",
        "python3",
        "save.py",
    ]
    assert world.run(*words).code == 1
    page = html.fromstring((world.here / "r.html").read_text())
    files = page.xpath("//div[@class='file']")
    changed = {file[0].text: file.xpath("string(span[@class='change'])") for file in files}
    assert changed.pop("z") == "changed" and not any(changed.values())
    rows = [[cell.text_content() for cell in row] for row in page.xpath("//table[@class='bytes']//tr")]
    was, now = " ".join(["59"] * 16), " ".join(["58"] * 16)
    assert rows == [["00200000", "was", was, "Y" * 16], ["", "is", now, "X" * 16]]
    assert "… 289 more unchanged" in page.text_content()
