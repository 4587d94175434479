"""syncfs counts as a sync of the data if it is one for the user's own folder, wherever the copy lies."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from powercut.record.recorder import RecordOptions, record_callable, record_command
from powercut.trace.layout import DATA, INODE, KIND, LENGTH, Kind
from powercut.trace.reader import Trace
from tests.needs import needs_loop_devices, needs_views

from .tracer_kit import compile_c, record

MEMORY = Path("/dev/shm")
BTRFS = 128 << 20  # bytes; it refuses to be much smaller

# Before each syncfs the program writes its number, so that the trace tells which ones were believed.
PROGRAM = r"""
int main(int argc, char **argv) {
    int log = must(open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600));
    for (int i = 2; i < argc; i++) {
        char number = (char)('0' + i - 2);
        OK(write(log, &number, 1));
        OK(syncfs(must(open(argv[i], O_RDONLY))));
    }
    return 0;
}"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with data and a program in it, on another file system than that of the copies."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "old").write_text("old")
    (tmp_path / "beside").write_text("not data")
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip(f"{MEMORY} is no other file system than that of the test's folder")
    compile_c(tmp_path, PROGRAM)
    return tmp_path


@pytest.fixture
def copy(world: Path) -> Iterator[Path]:
    """A copy of the data in memory."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield shutil.copytree(world / "data", Path(folder) / "copy")


def believed(trace: Trace) -> dict[int, int]:
    """The numbers of the calls that were taken as syncs of the data, with the inodes that the events name."""
    number, found = -1, {}
    for _, event in trace.calls():
        if event[KIND] == Kind.WRITE:
            number = int(trace.blob(event[DATA], event[LENGTH]))
        elif event[KIND] == Kind.SYNCFS:
            found[number] = event[INODE]
    return found


def record_calls(world: Path, *places: str, namespaces: bool = True) -> dict[int, int]:
    """Record the program, started beside its data folder, as `powercut` does; which of its calls were believed."""
    options = RecordOptions(
        world / "data", world, world / "run.trace", namespaces=namespaces, scratch=MEMORY, stacks=False
    )
    return believed(record_command([str(world / "program"), "data/log", *places], options).trace)


@pytest.mark.parametrize("namespaces", [pytest.param(True, marks=needs_views), False])
def test_a_descriptor_on_the_file_system_of_the_users_folder(world: Path, namespaces: bool) -> None:
    found = record_calls(world, "data/old", ".", "beside", "data", str(world.parent), namespaces=namespaces)
    assert list(found) == [0, 1, 2, 3, 4]
    assert [found[0] != 0, found[3] != 0] == [True, True]  # in the data folder
    assert [found[1], found[2], found[4]] == [0, 0, 0]


@pytest.mark.parametrize("namespaces", [pytest.param(True, marks=needs_views), False])
def test_a_descriptor_on_another_file_system(world: Path, namespaces: bool) -> None:
    """Not even on that of the copy: nobody's data is synced by it."""
    assert record_calls(world, str(MEMORY), "/proc", "/dev", namespaces=namespaces) == {}


def test_a_copy_beside_the_data(world: Path) -> None:
    """Where both are on one file system nothing can be mixed up."""
    shutil.copytree(world / "data", world / "copy")
    command = [world / "program", "log", "old", "..", MEMORY, "/proc"]
    run = record(world / "copy", command, "--original", str(world / "data"))
    assert list(believed(run.trace)) == [0, 1]


def test_data_in_memory_and_its_copy_on_disk(world: Path, copy: Path) -> None:
    """The same the other way round: the disk of the copy is not that of the data."""
    command = [world / "program", "log", ".", "..", str(copy), str(MEMORY), "/proc"]
    run = record(world / "data", command, "--original", str(copy))
    assert list(believed(run.trace)) == [0, 2, 3]


@needs_views
def test_a_python_function(world: Path) -> None:
    """The tracer comes to a process that has entered its view already, and still finds out about the folder."""

    def body() -> None:
        for number, place in enumerate([world / "data", world, MEMORY, Path("/proc")]):
            with open(world / "data" / "log", "w") as log:
                log.write(str(number))
            sync_file_system(place)

    recorded = record_callable(body, RecordOptions(world / "data", world, world / "run.trace", scratch=MEMORY))
    assert list(believed(recorded.trace)) == [0, 1]


def sync_file_system(place: Path) -> None:
    """syncfs, which Python does not have."""
    descriptor = os.open(place, os.O_RDONLY)
    assert ctypes.CDLL(None).syncfs(descriptor) == 0
    os.close(descriptor)


def test_a_folder_that_is_not_there(world: Path) -> None:
    run = record(world / "data", ["true"], "--original", str(world / "nowhere"), code=125)
    assert run.stderr == f"powercut-ptrace: cannot read the data folder {world}/nowhere: No such file or directory\n"


@pytest.fixture
def btrfs(tmp_path: Path) -> Iterator[Path]:
    """A btrfs with two subvolumes, one of which holds the data."""
    if shutil.which("mkfs.btrfs") is None or "\tbtrfs\n" not in Path("/proc/filesystems").read_text():
        pytest.skip("neither made nor mounted here: btrfs")
    image, place = tmp_path / "btrfs.image", tmp_path / "btrfs"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(BTRFS)
    subprocess.run(["mkfs.btrfs", "--quiet", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    try:
        for name in ("one", "other"):
            subprocess.run(["btrfs", "subvolume", "create", place / name], check=True, stdout=subprocess.DEVNULL)
        (place / "one" / "data").mkdir()
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@needs_loop_devices
@needs_views
def test_another_subvolume_is_not_believed(world: Path, btrfs: Path) -> None:
    """It is the same file system, but nothing tells that for certain: a false alarm is better than a missed mistake."""
    options = RecordOptions(btrfs / "one" / "data", btrfs, world / "run.trace", scratch=MEMORY, stacks=False)
    places = [str(btrfs / "one"), str(btrfs / "other"), str(btrfs)]
    recorded = record_command([str(world / "program"), "one/data/log", *places], options)
    assert list(believed(recorded.trace)) == [0]
