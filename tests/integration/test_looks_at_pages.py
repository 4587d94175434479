"""The watcher sees which pages of a mapped file a program touches, or takes the whole file for read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from powercut.trace.layout import Kind
from tests.integration.test_looks import TO_THE_END, looks

SHM = Path("/dev/shm")
PAGE = 4096
WHOLE = [(0, TO_THE_END)]
MAPPED = f"f = os.open('file', os.O_RDWR); m = mmap.mmap(f, 0); m[5 * {PAGE}]"

pytestmark = pytest.mark.skipif(
    not any(line.split()[1:3] == [str(SHM), "tmpfs"] for line in Path("/proc/mounts").read_text().splitlines()),
    reason=f"{SHM} is no tmpfs",
)


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder in memory, with a file of 64 pages."""
    with tempfile.TemporaryDirectory(dir=SHM) as folder:
        data = Path(folder) / "data"
        data.mkdir()
        (data / "link").symlink_to("none")
        (data / "file").write_bytes(b"x" * (64 * PAGE))
        yield data


def pages(*numbers: int) -> list[tuple[int, int]]:
    return [(number * PAGE, PAGE) for number in numbers]


SEEN = {
    "": pages(5),
    f"m[20 * {PAGE}] = 1": pages(5, 20),
    "m.close()": pages(5),
    f"m.close(); m = mmap.mmap(f, {PAGE}, offset=8 * {PAGE}); m[0]": pages(5, 8),
    f"m.madvise(mmap.MADV_DONTNEED); m[9 * {PAGE}]": pages(5, 9),
    f"m.madvise(mmap.MADV_REMOVE); m[9 * {PAGE}]": pages(5, 9),
    f"m.madvise(mmap.MADV_WILLNEED); m[9 * {PAGE}]": pages(5, 9),
    f"os.ftruncate(f, 0); os.ftruncate(f, 64 * {PAGE}); m[9 * {PAGE}]": pages(5, 9),
    f"os.truncate('file', {PAGE})": pages(5),
    "open('file', 'w')": pages(5),
    "os.posix_fallocate(f, 0, 99)": pages(5),
    "w, r = os.pipe()[::-1]; os.write(w, memoryview(m)[-9:])": pages(5, 63),
    "os._exit(3)": pages(5),
    "subprocess.run(['true'])": pages(5),
    f"n = mmap.mmap(f, 0, flags=mmap.MAP_PRIVATE); n[7 * {PAGE}]; n[8 * {PAGE}] = 1": pages(5, 7, 8),
    # Whole: another process, or thread, may have touched what nobody saw; or the end came too soon.
    "os.fork() or os._exit(0)": WHOLE,
    "os.kill(os.getpid(), 9)": WHOLE,
    "os.execvp('true', ['true'])": WHOLE,
    "m.resize(65 * 4096)": [*WHOLE, *pages(5)],
    "t = threading.Thread(target=m.close); t.start(); t.join()": WHOLE,
    "threading.Thread(target=time.sleep, args=(9,), daemon=True).start(); os._exit(0)": WHOLE,
}


@pytest.mark.parametrize("program", SEEN)
def test_pages_that_are_touched_are_seen(data: Path, program: str) -> None:
    quietly = f"import mmap, os, subprocess, threading, time\n{MAPPED}\n{program}"
    assert touched(data, quietly) == set(SEEN[program])


def touched(data: Path, program: str) -> set[tuple[int, int]]:
    """Pages of the file, one by one, and what else was read of it."""
    found = set()
    for look in looks(data, program):
        if look[:2] == (Kind.LOOK_PAGES, "file"):
            found |= {(offset, PAGE) for offset in range(look[2], look[2] + look[3], PAGE)}
        elif look[:2] in ((Kind.LOOK_DATA, "file"), (Kind.LOOK_MAP, "file")):
            found.add(look[2:])
    return found


def test_where_a_file_ends_is_asked_if_its_mapping_goes_on(data: Path) -> None:
    libc = "ctypes.CDLL(None).mmap(None, 70 * 4096, 1, 1, os.open('file', os.O_RDWR), 0)"
    assert touched(data, f"import ctypes, os\n{libc}") == {(64 * PAGE, 6 * PAGE)}


def test_a_mapping_that_may_only_be_read_shows_neighbours(data: Path) -> None:
    """The kernel enters up to 16 pages at once where nobody may write."""
    program = f"import mmap, os\nm = mmap.mmap(os.open('file', 0), 0, prot=mmap.PROT_READ); m[20 * {PAGE}]"
    found = touched(data, program)
    assert (20 * PAGE, PAGE) in found and len(found) <= 16


def test_no_descriptor_and_no_signal_more_is_seen_by_the_program(data: Path) -> None:
    program = f"import mmap, os, signal\n{MAPPED}\nassert os.open('.', 0) == f + 2, os.listdir('/proc/self/fd')"
    program += "\nassert not signal.pthread_sigmask(0, [])"
    assert touched(data, program) == set(pages(5))


def test_elsewhere_than_in_memory_a_mapping_is_read_as_a_whole(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(data, folder, symlinks=True)
    if folder.stat().st_dev == data.stat().st_dev:
        pytest.skip("temporary files lie in memory, too")
    assert touched(folder, f"import mmap, os\n{MAPPED}") == {(0, 64 * PAGE)}
