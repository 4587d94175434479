"""Data folders of every kind: missing, odd, full of special files; and the user's own one is never touched."""

from __future__ import annotations

import os
import socket

import pytest

from tests.cli.kit import SAVE, World

RECORDING = "powercut: recording in a private copy of HERE/data\n"


def test_no_such_folder(world: World) -> None:
    ended = world.run("test", "--dir", "nowhere", "--", "sh", "-c", SAVE)
    assert ended.err.splitlines()[-1] == (
        "powercut: the data folder HERE/nowhere does not exist. "
        "Create it, or choose another one with --dir. [no-such-folder]"
    )
    assert ended.code == 2


def test_a_link_to_nowhere(world: World) -> None:
    (world.here / "link").symlink_to("nowhere")
    assert world.run("test", "--dir", "link", "--", "sh", "-c", SAVE).code == 2


def test_a_link_to_the_folder_is_the_folder(world: World) -> None:
    (world.here / "link").symlink_to("data")
    ended = world.run("test", "--dir", "link", "--check", "sh check", "--", "sh", "-c", SAVE.replace("data", "link"))
    assert (ended.code, ended.err.splitlines()[0]) == (1, RECORDING.strip())


def test_an_empty_folder(world: World) -> None:
    (world.data / "f").unlink()
    ended = world.test(workload="echo hi > data/new", check="ls")
    assert (ended.code, ended.err) == (0, RECORDING)


def test_the_current_folder_is_the_data_folder(world: World) -> None:
    """Our own saved runs are in it, and are no part of the data."""
    (world.data / "check").write_text((world.here / "check").read_text())
    world.harmless = False  # .powercut appears in it
    script = SAVE.replace("data/", "")
    for number in ("0001", "0002"):
        ended = world.run("test", "--check", "sh check", "--", "sh", "-c", script, cwd=world.data)
        assert ended.code == 1, ended.err
        assert f"Saved in HERE/data/.powercut/runs/{number}\n" in ended.out
    listing = world.run("show", "data/.powercut/runs/0002/trace").out
    assert ".powercut" not in listing.partition("\n")[2].replace("HERE/data/.powercut", "")
    assert (world.data / "f").read_text() == "old"


def test_special_files_links_and_closed_files(world: World) -> None:
    data = world.data
    os.mkfifo(data / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(data, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/socket")  # the path itself may be too long for a socket
        os.close(here)
    (data / "out").symlink_to("/etc")
    (data / "nowhere").symlink_to("gone")
    os.link(data / "f", data / "hard")
    (data / "closed").write_text("secret")
    (data / "closed").chmod(0)
    (data / "locked").mkdir(mode=0o500)
    if os.geteuid() != 0:
        (data / "closed").unlink()  # only root can read it, and so record it
    ended = world.test(
        check="sh -c 'test -L out && test -L nowhere && test -d locked && . HERE/check'".replace(
            "HERE", str(world.here)
        )
    )
    assert ended.code == 1, ended.err
    assert "acknowledged but lost" in ended.out


def test_a_folder_that_may_not_be_written(world: World) -> None:
    """Root may; others are told by their own program."""
    world.data.chmod(0o500)
    ended = world.test()
    world.data.chmod(0o700)
    if os.geteuid() == 0:
        assert ended.code == 1
    else:
        assert (ended.code, "Permission denied" in ended.err) == (3, True)


@pytest.mark.parametrize("option", ["--scratch", "--output"])
def test_our_own_folders_beside_or_in_the_data(world: World, option: str) -> None:
    (world.here / "own").mkdir()
    ended = world.test(option, "own")
    assert ended.code == 1
    if option == "--scratch":
        assert list((world.here / "own").iterdir()) == []
        ended = world.test(option, "data/own")
        assert ended.err.splitlines()[-1] == (
            "powercut: the scratch folder HERE/data/own is inside the data folder. Choose another one. "
            "[scratch-in-data]"
        )
        assert ended.code == 3
        ended = world.test(option, "nowhere")
        assert ended.err.splitlines()[-1].endswith("No such file or directory. Use --scratch DIR. [scratch-unusable]")
    else:
        assert "Saved in HERE/own/runs/0001\n" in ended.out
        assert f"replay: powercut replay 0001/{ended.out.split()[0]} --output own\n" in ended.out
        ended = world.test(option, "check/x")
        assert ended.err == (
            "powercut: cannot create a folder for this run in HERE/check/x: Not a directory. Choose another folder "
            "with --output DIR. [output-unwritable]\n"
        )


def test_temporary_folders_with_spaces(world: World) -> None:
    odd = world.here / "tmp" / "t m\np"
    odd.mkdir()
    world.env["TMPDIR"] = str(odd)
    process = world.start("test", "--dir", "data", "--check", "sh check", "--", "sh", "-c", SAVE)
    assert process.wait() == 1
    assert list(odd.iterdir()) == []


# Without private mount namespaces


def test_without_namespaces_the_findings_are_the_same(world: World) -> None:
    script = 'printf new > "$0/f.tmp" && mv "$0/f.tmp" "$0/f" && echo saved'
    ids = []
    named = [("--namespaces", "data"), *(("--no-namespaces", name) for name in (str(world.data), "./data/../data"))]
    for option, folder in named:
        ended = world.run("test", "--dir", "data", "--check", "sh check", option, "--", "sh", "-c", script, folder)
        assert ended.code == 1, ended.err
        ids.append(ended.out.split()[0])
    assert len(set(ids)) == 1


def test_without_namespaces_in_the_data_folder(world: World) -> None:
    (world.data / "check").write_text((world.here / "check").read_text())
    command = [
        "--output",
        "../runs",
        "--check",
        "sh check",
        "--no-namespaces",
        "--",
        "sh",
        "-c",
        SAVE.replace("data/", ""),
    ]
    assert world.run("test", *command, cwd=world.data).code == 1


def test_without_namespaces_a_recorded_trace_stands_for_the_folder(world: World) -> None:
    script = 'printf new > "$0/f.tmp" && mv "$0/f.tmp" "$0/f" && echo saved'
    ended = world.run("record", "-o", "t", "--dir", "data", "--no-namespaces", "--", "sh", "-c", script, "data")
    assert ended.code == 0
    assert "dir: HERE/data\n" in world.run("show", "t").out
    assert world.run("explore", "t", "--check", f"sh {world.here}/check {world.data}").code == 1


def test_without_namespaces_a_program_that_reaches_the_real_folder_is_refused(world: World) -> None:
    """Paths inside a script are not substituted. What was overwritten is kept."""
    world.harmless = False
    ended = world.test("--no-namespaces")
    assert ended.code == 3
    assert ended.err.splitlines()[-1] == (
        "powercut: the program changed the real folder HERE/data (f): without private mounts, only paths in the "
        "arguments point to the copy. The previous content of the folder is in "
        "HERE/.powercut/runs/0001/trace.before. Pass the folder's path to the program as an argument, start powercut "
        "in the data folder, or run powercut doctor to enable private mounts. [folder-changed]"
    )
    assert (world.here / ".powercut/runs/0001/trace.before/f").read_text() == "old"


@pytest.mark.parametrize("folder", ["/", "/etc", "/proc/self", "HOME"])
def test_a_folder_of_the_machine_is_refused_unless_it_is_meant(world: World, folder: str) -> None:
    world.env["HOME"] = str(world.here)
    named = folder.replace("HOME", str(world.here))
    ended = world.run("test", "--dir", named, "--", "sh", "-c", "true")
    assert ended.code == 2 and "[system-folder]" in ended.err and "--any-folder" in ended.err
    assert not (world.here / ".powercut").exists()
    if folder == "HOME":
        assert world.run("test", "--dir", named, "--any-folder", "--", "sh", "-c", "echo x > x; sync").code == 0


def test_a_missing_folder_is_noticed_before_anything_is_said(world: World) -> None:
    ended = world.run("test", "--dir", "nosuch", "--", "sh", "-c", "true")
    assert ended.code == 2 and ended.err.startswith("powercut: the data folder HERE/nosuch does not exist."), ended.err
