"""File systems without room: a clear word, exit 3, and nothing lost. Each runs in a mount namespace of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.cli.kit import ROW, SAFE, SAVE, World, looks

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]


def can_mount() -> bool:
    command = [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="no file systems can be mounted here")


@dataclass(frozen=True, slots=True)
class Ended:
    """How powercut ended, and what was on the small file system then."""

    code: int
    out: str
    err: str
    left: list[str]


def run_with_small(world: World, size: str, *arguments: str, fill: str = "0") -> Ended:
    """Run powercut where `small` is a file system of that size, of which some is taken."""
    (world.here / "small").mkdir()
    before = looks(world.data)
    script = (
        f"mount -t tmpfs -o size={size} none small && head -c {fill} /dev/zero > small/taken\n"
        '"$@"; code=$?; find small -mindepth 1 > left; exit $code'
    )
    command = [*UNSHARE, "sh", "-c", script, "sh", sys.executable, "-m", "powercut", *arguments]
    done = subprocess.run(command, cwd=world.here, env=world.env, capture_output=True)
    assert looks(world.data) == before
    assert b"Traceback" not in done.stderr
    left = [line for line in (world.here / "left").read_text().splitlines() if line != "small/taken"]
    return Ended(done.returncode, world.shorten(done.stdout), world.shorten(done.stderr), left)


def test_no_room_for_the_trace(world: World) -> None:
    ended = run_with_small(world, "64k", "test", "--dir", "data", "--output", "small", "--", "sh", "-c", SAFE)
    assert ended.err.splitlines()[-1] == (
        "powercut: no space left for the trace, so powercut ended the program. HERE/small/runs/0001/trace holds what "
        "was recorded before; powercut explore tests it. Or put the trace elsewhere. [trace-full]"
    )
    assert ended.code == 3


def test_no_room_for_a_recorded_trace(world: World) -> None:
    ended = run_with_small(world, "64k", "record", "-o", "small/t", "--dir", "data", "--", "sh", "-c", SAFE)
    assert (ended.code, ended.left) == (3, ["small/t"])
    assert "HERE/small/t holds what was recorded before; powercut explore" in ended.err


def test_no_room_for_the_copy_of_a_trace(world: World) -> None:
    assert world.run("record", "-o", "t", "--dir", "data", "--", "sh", "-c", SAFE).code == 0
    ended = run_with_small(world, "16k", "explore", "t", "--output", "small")
    assert ended.err == (
        "powercut: cannot copy the trace to HERE/small/runs/0001: No space left on device. Choose another folder with "
        "--output DIR. [output-unwritable]\n"
    )
    assert (ended.code, ended.left) == (3, ["small/runs"])


def test_no_room_for_the_copy_of_the_data(world: World) -> None:
    (world.data / "big").write_bytes(bytes(range(256)) * 1000)
    ended = run_with_small(world, "64k", "test", "--dir", "data", "--scratch", "small", "--", "sh", "-c", SAFE)
    assert ended.err.splitlines()[-1] == (
        "powercut: no space left for the copy of HERE/data/big. Choose a folder with more space with --scratch DIR. "
        "[scratch-full]"
    )
    assert (ended.code, ended.left) == (3, [])


def test_no_room_for_what_the_program_writes(world: World) -> None:
    script = "head -c 200000 /dev/zero > data/big"
    ended = run_with_small(world, "64k", "test", "--dir", "data", "--scratch", "small", "--", "sh", "-c", script)
    message = (
        f"powercut: the program {f'sh -c {script}'!r} exited with status 1 when no space was left for its "
        "files. Choose a folder with more space with --scratch DIR. Its last output:"
    )
    assert message in ended.err
    assert ended.err.endswith("[scratch-full]\n")
    assert (ended.code, ended.left) == (3, [])


def test_no_room_for_an_execution_of_a_race(world: World) -> None:
    words = ("race", "--dir", "data", "--scratch", "small", "--", "sh", "-c", SAFE)
    ended = run_with_small(world, "32k", *words)
    assert ended.err.endswith("[scratch-full]\n")
    assert (ended.code, ended.left) == (3, [])


def test_no_room_for_scratch_at_all(world: World) -> None:
    words = ("test", "--dir", "data", "--scratch", "small", "--", "sh", "-c", SAFE)
    ended = run_with_small(world, "16k", *words, fill="16k")
    assert ended.err.endswith("[scratch-unusable]\n")
    assert (ended.code, ended.left) == (3, [])


def test_no_room_for_a_worker(world: World) -> None:
    """Not even the folders in which a worker would build its images."""
    assert world.run("record", "-o", "t", "--dir", "data", "--", "sh", "-c", SAFE).code == 0
    (world.here / "small").mkdir()
    before = looks(world.data)
    # The scratch folder and its marker take two inodes beside the root; the first worker's own folder finds none.
    script = 'mount -t tmpfs -o nr_inodes=3 none small; "$@"; code=$?; find small -mindepth 1 > left; exit $code'
    check = ["explore", "t", "--check", "sh check", "--scratch", "small", "--workers", "1"]
    command = [*UNSHARE, "sh", "-c", script, "sh", sys.executable, "-m", "powercut", *check]
    done = subprocess.run(command, cwd=world.here, env=world.env, capture_output=True)
    said = world.shorten(done.stderr)
    assert said.splitlines()[-1].endswith("choose a folder with more space with --scratch DIR. [scratch-full]"), said
    assert (done.returncode, (world.here / "left").read_text()) == (3, "")
    assert looks(world.data) == before


def test_no_room_for_images(world: World) -> None:
    """Room for the copy is not room for what every worker builds."""
    check = ["--check", "sh check", "--scratch", "small", "--workers", "4"]
    script = f"head -c 30000 /dev/urandom > data/big; {SAFE}"
    ended = run_with_small(world, "64k", "test", "--dir", "data", *check, "--", "sh", "-c", script)
    assert "no space left" in ended.err
    assert (ended.code, ended.left) == (3, [])


def test_no_room_for_the_report(world: World) -> None:
    judged = ["--fs", ROW, "--check", "sh check", "--json", "small/report"]
    command = ["test", "--dir", "data", *judged, "--", "sh", "-c", SAVE]
    ended = run_with_small(world, "64k", *command, fill="65536")
    assert ended.err.splitlines()[-1] == (
        "powercut: cannot write small/report: No space left on device. [output-unwritable]"
    )
    assert "1 finding. " in ended.out
    assert (ended.code, ended.left, world.runs()) == (3, [], ["0001"])


def test_no_room_in_the_folder_for_temporary_files(world: World) -> None:
    world.env["TMPDIR"] = str(world.here / "small")
    command = ["test", "--dir", "data", "--check", "sh check", "--", "sh", "-c", SAVE]
    ended = run_with_small(world, "16k", *command, fill="16384")
    assert ended.code == 1  # there is memory
    assert ended.left == []
