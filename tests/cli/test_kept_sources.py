"""A run keeps the sources that its findings name: ids stay, and what is shown is what was there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import World

PROGRAM = """\
import os


def save():
    with open("data/f.tmp", "w") as file:
        file.write("new")
    os.rename("data/f.tmp", "data/f")  # as it was


save()
print("saved", flush=True)
"""
EDITED = PROGRAM.replace("as it was", "as it is").replace('os.rename("data/f.tmp", "data/f")', "os.replace(*NAMES)")
OPTIONS = ["--dir", "data", "--check", "sh check", "--fs", "ext4-writeback", "--json", "report.json"]


@pytest.fixture
def tested(world: World) -> World:
    """A world with a run that has findings."""
    (world.here / "saves.py").write_text(PROGRAM)
    ended = world.run("test", *OPTIONS, "--html", "page.html", "--", "python3", "saves.py")
    assert ended.code == 1, ended.err
    assert "changed, or gone" not in ended.out
    return world


def found(world: World) -> list[dict[str, Any]]:
    findings: list[dict[str, Any]] = json.loads((world.here / "report.json").read_text())["findings"]
    return findings


def ids(world: World) -> list[str]:
    return [finding["id"] for finding in found(world)]


def test_a_run_that_goes_on_after_an_edit_has_the_same_ids(tested: World) -> None:
    before = ids(tested)
    (tested.here / "saves.py").write_text(EDITED)
    ended = tested.run("resume", "--json", "report.json")
    assert ended.code == 1 and before and ids(tested) == before
    assert "os.replace" not in ended.out
    assert (
        "Note: HERE/saves.py has changed or is gone since this run. The lines shown are those of the run." in ended.out
    )


def test_a_trace_of_a_run_that_is_explored_again_has_the_same_ids(tested: World) -> None:
    before = ids(tested)
    (tested.here / "saves.py").unlink()
    trace = tested.here / ".powercut" / "runs" / "0001" / "trace"
    assert tested.run("explore", str(trace), *OPTIONS[2:]).code == 1
    assert ids(tested) == before


def test_what_is_shown_is_what_was_there(tested: World) -> None:
    one = ids(tested)[0]
    before = tested.run("show", one, "--no-diff").out
    assert 'os.rename("data/f.tmp", "data/f")' in before
    (tested.here / "saves.py").write_text(EDITED)
    told = "  note: HERE/saves.py has changed or is gone since this run. The lines shown are those of the run.\n"
    assert tested.run("show", one, "--no-diff").out == before + told
    assert 'os.rename("data/f.tmp", "data/f")' in tested.run("show").out


def test_reports_have_the_lines_of_the_run(tested: World) -> None:
    (tested.here / "saves.py").write_text(EDITED)
    ended = tested.run("report", "--html", "1", "--sarif", "2", "--junit", "3")
    assert ended.code == 0
    assert "powercut: warning: HERE/saves.py has changed or is gone since this run." in ended.err
    for name in "123":
        text = (tested.here / name).read_text()
        assert "os.rename" in text and "os.replace" not in text


def test_a_later_run_has_the_text_of_its_own_time(tested: World) -> None:
    (tested.here / "saves.py").write_text(PROGRAM.replace("as it was", "as it is"))
    before = ids(tested)
    assert tested.run("test", *OPTIONS, "--", "python3", "saves.py").code == 1
    assert before != ids(tested)  # a line that a finding names has another text


def test_nothing_is_read_or_written_elsewhere(tested: World) -> None:
    """Files of a run are given to others: what they name is not believed."""
    folder = tested.here / ".powercut" / "runs" / "0001" / "sources"
    index = json.loads((folder / "index.json").read_text())
    assert set(os.listdir(folder)) == {"index.json", *index.values()}
    source = str(tested.here / "saves.py")
    (tested.here / "secret").write_text(PROGRAM.replace("as it was", "secret"))
    one = ids(tested)[0]
    for harm in ("../../../../secret", str(tested.here / "secret"), 7, None):
        (folder / "index.json").write_text(json.dumps({source: harm}))
        assert "secret" not in tested.run("show", one, "--no-diff").out
    (folder / "index.json").write_text(json.dumps(index))
    kept = folder / index[source]
    for content in (PROGRAM.replace("as it was", "secret"), None):
        kept.unlink()
        if content is None:
            kept.symlink_to(tested.here / "secret")
        else:
            kept.write_text(content)
        told = tested.run("show", one, "--no-diff")
        assert told.code == 0 and "secret" not in told.out
    (folder / "index.json").write_text("[" * 100000)
    assert tested.run("show", one, "--no-diff").code == 0


def test_what_is_no_text_is_not_kept(world: World, tmp_path: Path) -> None:
    from powercut.findings.sources import Sources

    run = tmp_path / "run"
    run.mkdir()
    names = {"text.c": b"int main;\n", "binary.c": b"\0\1", "large.c": b"/* */\n" * 200_000, "latin.c": b"// \xe9\n"}
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.c")
    sources = Sources(run, keeping=True)
    files = [str(tmp_path / name) for name in (*names, "pipe.c", "none.c", "a\0b.c")]
    lines = {Path(file).name: len(sources.lines(file)) for file in files}
    assert lines == {
        "text.c": 1,
        "binary.c": 0,
        "large.c": 200_000,
        "latin.c": 0,
        "pipe.c": 0,
        "none.c": 0,
        "a\0b.c": 0,
    }
    assert list(sources.kept) == [str(tmp_path / "text.c")] == list(Sources(run).kept)
    (tmp_path / "text.c").write_text("int changed;")
    assert Sources(run).line_text(files[0], 1) == "int main;" and Sources(run).changed(files[0])
    assert Sources().line_text(files[0], 1) == "int changed;"
