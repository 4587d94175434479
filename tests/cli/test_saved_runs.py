"""`show` and `replay` of saved runs."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.kit import SAFE, World


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    """A world with two runs, the first of which found something; and the finding's id."""
    world = World.make(tmp_path_factory.mktemp("saved"))
    found = world.test()
    assert (found.code, world.test(workload=SAFE).code) == (1, 0)
    return world, found.out.split()[0]


@pytest.fixture
def lost(saved: tuple[World, str], tmp_path: Path) -> tuple[World, str]:
    """The same in a place of its own, where it may be broken."""
    world, name = saved
    shutil.copytree(world.here, tmp_path / "copy")
    return World(tmp_path / "copy", {**world.env, "TMPDIR": str(tmp_path / "copy/tmp")}), name


def test_nothing_was_saved_yet(world: World) -> None:
    ended = world.run("show")
    message = "powercut: no saved run in .powercut. Run powercut test first, or give --output DIR. [no-run]\n"
    assert (ended.err, ended.code) == (message, 2)
    ended = world.run("replay", "3f9a")
    message = "there is no finding '3f9a' in the saved runs of .powercut. List them with powercut show. [no-finding]"
    assert (ended.err, ended.code) == (f"powercut: {message}\n", 2)


def test_show_names_runs_and_findings_in_every_way(saved: tuple[World, str]) -> None:
    world, name = saved
    assert "\nNo findings. " in world.run("show").out  # the last run
    first = world.run("show", "1").out
    assert first.startswith(f"{name}  acknowledged but lost (durability)\n")
    assert "\nSaved in .powercut/runs/0001\n" in first
    one = world.run("show", name).out
    assert one.startswith(f"{name}  acknowledged but lost (durability)\n")
    assert one.endswith("    f: 3 bytes 'old' (before: 3 bytes 'new')\n    f.tmp: 3 bytes 'new' (before: missing)\n")
    assert world.run("show", f"1/{name[:2]}").out == one
    assert world.run("show", name, "--no-diff").out in one


def test_show_of_what_is_not_there(saved: tuple[World, str]) -> None:
    world, name = saved
    missing = {
        f"2/{name}": f"there is no finding '{name}' in run 2. List them with powercut show. [no-finding]",
        f"7/{name}": "there is no saved run 7 in .powercut. [no-run]",
    }
    for what, message in missing.items():
        ended = world.run("show", what)
        assert (ended.err, ended.out, ended.code) == (f"powercut: {message}\n", "", 2)


def test_letters_that_can_be_several_findings(lost: tuple[World, str]) -> None:
    world, name = lost
    path = world.here / ".powercut/runs/0001/run.json"
    run = json.loads(path.read_text())
    run["findings"].append({**run["findings"][0], "id": name[:-1] + "x"})
    path.write_text(json.dumps(run))
    ended = world.run("replay", name[:3])
    assert ended.err == (
        f"powercut: '{name[:3]}' matches several findings: {name}, {name[:-1]}x. Give more letters. [many-findings]\n"
    )


def test_replay_judges_again(saved: tuple[World, str]) -> None:
    world, name = saved
    ended = world.run("replay", name)
    refused = "The check fails on this image (exit status 1).\n  | f holds old\n"
    assert (ended.out, ended.err, ended.code) == (refused, "", 1)
    ended = world.run("replay", name, "--check", "true")
    assert (ended.out, ended.code) == ("The check passes on this image.\n", 0)
    assert world.run("replay", name, "--check", "sh check").out == refused  # files are found where we are, as by test
    assert (
        world.run("replay", name, "--check", "sh -c 'kill -9 $$'").out
        == "The check crashes on this image (signal 9).\n"
    )


def test_replay_with_a_check_that_cannot_be(saved: tuple[World, str]) -> None:
    world, name = saved
    ended = world.run("replay", name, "--check", "nosuch")
    message = "powercut: cannot find the program 'nosuch'. Is it in your PATH? [no-such-program]\n"
    assert (ended.err, ended.code) == (message, 3)
    ended = world.run("replay", name, "--check", "a 'b")
    assert ended.err == 'powercut: the check "a \'b" cannot be split into words: No closing quotation. [bad-check]\n'
    assert ended.code == 2


def test_replay_leaves_the_image(lost: tuple[World, str]) -> None:
    world, name = lost
    assert world.run("replay", name, "--image", "im age/one").code == 1
    image = world.here / "im age" / "one"
    assert {path.name: path.read_text() for path in image.iterdir()} == {"f": "old", "f.tmp": "new"}
    assert os.listdir(image.parent) == ["one"]
    ended = world.run("replay", name, "--image", "im age/one")
    message = "powercut: im age/one exists. Choose a folder that does not exist. [image-exists]\n"
    assert (ended.err, ended.code) == (message, 2)
    ended = world.run("replay", name, "--image", "check/x")
    message = (
        "powercut: cannot write the image to check/x: Not a directory. Choose another folder. [image-unwritable]\n"
    )
    assert (ended.err, ended.code) == (message, 3)


def test_replay_when_the_users_folder_changed_or_vanished(lost: tuple[World, str]) -> None:
    world, name = lost
    refused = "The check fails on this image (exit status 1).\n  | f holds old\n"
    (world.data / "f").write_text("something else")
    run = json.loads((world.here / ".powercut/runs/0001/run.json").read_text())
    original = Path(run["folder"])
    assert world.run("replay", name).out == refused
    original.rename(original.with_name("moved"))
    try:
        ended = world.run("replay", name)
        assert (ended.out, ended.code) == (refused, 1)
        warning = "powercut: warning: the check sees the image at another path ("
        assert ended.err.startswith(warning)
        original.write_text("now a file")
        assert world.run("replay", name).out == refused
    finally:
        original.unlink(missing_ok=True)
        original.with_name("moved").rename(original)


def broken_json(run: Path) -> None:
    (run / "run.json").write_text("{")


def other_json(run: Path) -> None:
    (run / "run.json").write_text('{"findings": 3}')


def newer(run: Path) -> None:
    (run / "run.json").write_text((run / "run.json").read_text().replace('"format": 2', '"format": 3'))


def other_model(run: Path) -> None:
    (run / "run.json").write_text(
        (run / "run.json").read_text().replace('"model": "ext4-nodelalloc', '"model": "zfs-ordered')
    )


def no_trace(run: Path) -> None:
    (run / "trace").unlink()


DAMAGE = {
    broken_json: "is not a saved run: Expecting property name enclosed in double quotes: line 1 column 2 (char 1). "
    "[broken-run]",
    other_json: "is not a saved run: Expected `array`, got `int` - at `$.findings`. [broken-run]",
    newer: "this one reads format 2. Run powercut explore .powercut/runs/0001/trace, or use that powercut. "
    "[other-run-format]",
    other_model: ".powercut/runs/0001 was made with the unknown model 'zfs-ordered'. [broken-run]",
    no_trace: "cannot read the trace .powercut/runs/0001/trace: No such file or directory. [trace-unreadable]",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_runs(lost: tuple[World, str], damage: object) -> None:
    world, name = lost
    damage(world.here / ".powercut/runs/0001")  # type: ignore[operator]
    for command in ("show", "replay"):
        ended = world.run(command, f"1/{name}")
        assert ended.err.endswith(DAMAGE[damage] + "\n")  # type: ignore[index]
        assert ended.code == 2
    assert "\nNo findings. " in world.run("show").out  # the other run is none the worse
    assert world.run("show", "xyz").err.endswith("[no-finding]\n")


def test_a_finding_that_does_not_fit_its_trace(lost: tuple[World, str]) -> None:
    world, name = lost
    path = world.here / ".powercut/runs/0001/run.json"
    run = json.loads(path.read_text())
    run["findings"][0]["state"]["delta"] = [10**6]
    path.write_text(json.dumps(run))
    message = f"powercut: finding {name} does not fit the trace in .powercut/runs/0001. Run it again. [broken-run]\n"
    for command in ("show", "replay"):
        ended = world.run(command, f"1/{name}")
        assert (ended.err, ended.code) == (message, 2)


def test_old_runs_are_removed_and_the_rest_is_left(lost: tuple[World, str]) -> None:
    world, _ = lost
    runs = world.here / ".powercut/runs"
    (runs / "0000").symlink_to(world.data)  # named like a run, and somebody else's
    (runs / "0003").mkdir()
    (runs / "0003" / "mine").write_text("not a run")
    (runs / "notes").write_text("mine, too")
    ended = world.run("clean", "--keep", "1")
    assert (ended.code, ended.out.startswith("Removed 1 run from .powercut: ")) == (0, True), ended.out
    assert sorted(path.name for path in runs.iterdir()) == ["0000", "0002", "0003", "notes"]
    assert (world.here / ".powercut/verdicts.sqlite3").exists()
    (runs / "0003" / "mine").rename(world.here / "mine")
    assert world.run("clean").out.endswith("; 1 run still in use.\n")  # it may just begin
    assert (world.here / ".powercut/verdicts.sqlite3").exists()
    os.utime(runs / "0003", (0, 0))
    assert world.run("clean").out.startswith("Removed 1 run from .powercut: ")
    assert sorted(path.name for path in runs.iterdir()) == ["0000", "notes"]
    assert not (world.here / ".powercut/verdicts.sqlite3").exists()
    assert (world.data / "f").read_text() == "old"


def test_a_run_that_goes_on_is_not_removed(lost: tuple[World, str]) -> None:
    world, _ = lost
    with open(world.here / ".powercut/runs/0001/plan.json") as plan:
        fcntl.flock(plan, fcntl.LOCK_EX)
        ended = world.run("clean")
    assert "; 1 run still in use." in ended.out and world.runs() == ["0001"]


def test_there_is_nothing_to_clean(world: World) -> None:
    assert world.run("clean").err.startswith("powercut: no saved run in .powercut. ")


def test_show_tells_what_runs_take(lost: tuple[World, str]) -> None:
    world, _ = lost
    assert re.search(r"this is one of 2 saved runs, \d+ kB in all \(\d+ kB\)\. .*clean", world.run("show").err)


def test_a_run_that_is_not_there_is_no_finding(lost: tuple[World, str]) -> None:
    world, _ = lost
    ended = world.run("show", "99")
    assert (ended.code, ended.err) == (2, "powercut: there is no saved run 99 in .powercut. [no-run]\n")


def test_saved_runs_stay_out_of_repositories(world: World) -> None:
    assert world.test("--output", "mine").code == 1
    assert (world.here / "mine/.gitignore").read_text().endswith("\n*\n")
    (world.here / "theirs").mkdir()
    assert world.test("--output", "theirs").code == 1
    assert not (world.here / "theirs/.gitignore").exists()


def test_many_bytes_of_saved_runs_are_told(world: World) -> None:
    (world.here / ".powercut").mkdir()
    with open(world.here / ".powercut/large", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 501 << 20)
    assert "warning: saved runs take 501 MB in HERE/.powercut: powercut clean --keep N removes" in world.test().err
