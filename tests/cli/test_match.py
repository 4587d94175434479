"""`powercut match`: exit codes and words, for folders that can be, that cannot, and that cannot be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from powercut.model.filesystem import FILE_SYSTEMS
from tests.cli.kit import SAVE, World


@pytest.fixture
def recorded(world: World) -> World:
    """A world with the trace `t` of a program that replaces `f` without a sync."""
    assert world.run("record", "-o", "t", "--dir", "data", "--", "sh", "-c", SAVE).code == 0
    return world


def image(world: World, **files: str) -> Path:
    folder = world.here / "image"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
        (folder / name).chmod((world.data / "f").stat().st_mode)
    return folder


def match(world: World, *options: str) -> tuple[int, str, str]:
    ended = world.run("match", "t", "--image", "image", *options)
    return ended.code, ended.out, ended.err


def test_a_possible_folder_ends_with_0(recorded: World) -> None:
    image(recorded, f="old")
    code, out, err = match(recorded)
    assert (code, err) == (0, "")
    first, _, rows, cut, lost = out.splitlines()
    assert first == "A power cut can have left image."
    assert rows == f"{', '.join(FILE_SYSTEMS)}: possible"
    assert cut == (
        '  cut after the start of the program, up to the end of the trace; nothing printed, at the latest "saved"'
    )
    assert lost == "  lost: nothing"


def test_what_was_lost_is_said(recorded: World) -> None:
    image(recorded, f="new")
    assert match(recorded, "--after", "saved")[0] == 0
    image(recorded, f="")
    code, out, _ = match(recorded, "--after", "saved", "--fs", "xfs,ext4-nodelalloc", "--json", "m.json")
    assert code == 0
    xfs, ext4 = json.loads((recorded.here / "m.json").read_text())["rows"]
    assert (xfs["fs"], xfs["possible"]) == ("xfs", True)
    assert [word.partition(" (")[0] for word in xfs["fate"]["lost"]] == ["the growth of f.tmp to 3 bytes"]
    assert (ext4["fs"], ext4["possible"], ext4["decided"]) == ("ext4-nodelalloc", False, True)
    assert "\next4-nodelalloc: not possible\n  the nearest possible state has 1 difference:\n" in out


def test_an_impossible_folder_ends_with_1_and_says_where(recorded: World) -> None:
    image(recorded, f="odd")
    code, out, err = match(recorded, "--fs", "ext4-ordered")
    assert (code, err) == (1, "")
    assert out.startswith("A power cut cannot have left image.\n\next4-ordered: not possible\n")
    assert "    f: bytes 1 to 2 differ\n" in out  # "old" is nearer than "new"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--after", "never"], "the program never printed the line 'never'. It printed: saved. [no-such-moment]"),
        (["--fs", "zfs"], "unknown file-system model 'zfs'. Known: "),
    ],
)
def test_wrong_options_end_with_2(recorded: World, options: list[str], message: str) -> None:
    image(recorded, f="old")
    code, out, err = match(recorded, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"powercut: {message}")


def test_folders_that_are_none_end_with_2(recorded: World) -> None:
    code, out, err = match(recorded)
    assert (code, out) == (2, "")
    assert err == "powercut: cannot read the folder image: No such file or directory. [no-image]\n"
    image(recorded, other="x")
    code, out, err = match(recorded)
    assert (code, out) == (2, "")
    assert err.startswith("powercut: image contains no name that the recorded program used.")


def test_a_trace_that_was_cut_says_so_and_ends_with_3(recorded: World) -> None:
    whole = (recorded.here / "t").read_bytes()
    (recorded.here / "t").write_bytes(whole[:-1])
    image(recorded, f="odd")
    code, out, err = match(recorded, "--fs", "xfs")
    assert code == 3
    assert err.startswith("powercut: warning: the trace is truncated")
    assert out.startswith(
        "It is not known whether a power cut can have left image.\n\nxfs: undecided: the trace is truncated"
    )


def test_the_folder_is_left_as_it_was(recorded: World) -> None:
    folder = image(recorded, f="old")
    before = (folder / "f").stat()
    match(recorded)
    after = (folder / "f").stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_size) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_size,
    )
