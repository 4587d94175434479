"""Segments that the supervisor makes ahead: taken when they are there, not needed, and harmless when left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from harness import POWERCUT

from powercut.errors import UsageError
from powercut.guard.history import History
from powercut.guard.housekeeping import READY, SEGMENT, Housekeeping, keep_ready, sweep
from powercut.guard.log import GuardLog, RecordKind, last_segment
from powercut.guard.log_folder import nobody_writes
from powercut.guard.supervise import Supervisor, Watch
from tests.needs import needs_pmdk

NEVER_DURABLE = 1024  # bytes that libpmemobj writes without ever making them durable
ROUNDS = "6000"  # of four threads: more than two segments

pytestmark = needs_pmdk


@pytest.fixture(autouse=True)
def persistent_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def nobody_has(folder: Path) -> bool:
    """Whether what wrote the log is gone: its lock with it."""
    with suppress(UsageError), nobody_writes(folder):
        return True
    return False


def is_whole(folder: Path, commits: int) -> bool:
    """Whether the log tells of all transactions, and explains the pool."""
    log = GuardLog(folder)
    unexplained = sum(len(data) for _, data in History(log, log.pools[1]).differences())
    return len(log.of_kind(RecordKind.COMMIT)) >= commits and unexplained <= NEVER_DURABLE


def test_ready_segments_are_taken_and_then_the_service_makes_its_own(service: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    keep_ready(log, 1)
    made = {path.stem: path.stat().st_ino for path in log.glob("*.ready")}
    assert sorted(made) == [str(number + 1) for number in range(READY)]
    environment = Supervisor([], log, [], Watch(), print)._environment()
    assert not list(log.glob("*.ready")), "a start sweeps away what another one left"
    keep_ready(log, 1)
    made = {path.stem: path.stat().st_ino for path in log.glob("*.ready")}
    command = [service, tmp_path / "pool", "rounds", ROUNDS, "4"]
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    assert {name: (log / f"{name}.segment").stat().st_ino for name in made} == made
    assert last_segment(log) > READY and not list(log.glob("*.ready"))
    assert is_whole(log, 4 * int(ROUNDS))


def test_segments_are_made_while_a_service_takes_them(tmp_path: Path) -> None:
    """Whether they are taken one by one, or made by the service, which is faster now and then."""
    with Housekeeping(tmp_path, 5):
        for number in range(5, 9):
            until((tmp_path / f"{number}.ready").exists)
            (tmp_path / f"{number}.ready").rename(tmp_path / f"{number}.segment")
        (tmp_path / "20.segment").write_bytes(b"")
        until(lambda: {path.stem for path in tmp_path.glob("*.ready")} == {"21", "22"})
        assert (tmp_path / "21.ready").read_bytes() == bytes(SEGMENT)
    assert {path.name for path in tmp_path.iterdir()} == {*(f"{n}.segment" for n in (5, 6, 7, 8, 20))}


def test_a_supervisor_that_is_killed_leaves_a_service_that_goes_on(service: Path, tmp_path: Path) -> None:
    log, words = tmp_path / "log", [service, tmp_path / "pool", "rounds"]
    guard = subprocess.Popen([POWERCUT, "guard", "--log", log, "--", *words, "1000000", "1"])
    until(lambda: last_segment(log) >= 2 if log.exists() else False)
    children = Path(f"/proc/{guard.pid}/task/{guard.pid}/children").read_text().split()
    guard.kill()
    guard.wait()
    try:
        alone = last_segment(log)
        until(lambda: last_segment(log) > alone + READY)
    finally:
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    until(lambda: nobody_has(log))
    (log / "99.ready").write_bytes(b"left")
    Supervisor([str(word) for word in [*words, "5", "4"]], log, [], Watch(), print).run(0)
    assert not list(log.glob("*.ready*"))
    assert is_whole(log, 1)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a segment and a half."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SEGMENT * 3 // 2}", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system")
def test_on_a_full_disk_the_service_goes_on_without_its_log(service: Path, small: Path, tmp_path: Path) -> None:
    log = small / "log"
    command = [POWERCUT, "guard", "--log", log, "--", service, tmp_path / "pool", "rounds", ROUNDS, "4"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    assert done.stderr.count("[guard-log-full]") == 1 and "No space left" in done.stderr
    assert [path.name for path in log.glob("[0-9]*")] == ["1.segment"]
    assert len(GuardLog(log).of_kind(RecordKind.COMMIT)) > 100


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system")
def test_what_does_not_fit_is_not_kept(small: Path) -> None:
    keep_ready(small, 1)
    assert [path.name for path in small.iterdir()] == ["1.ready"]
    sweep(small)
    assert not list(small.iterdir())


def test_who_ends_a_service_does_not_wait_for_segments_that_are_made(tmp_path: Path) -> None:
    """A disk may take long for one."""
    looks = iter([False, False, True, True])
    keep_ready(tmp_path, 1, lambda: next(looks, True))
    assert not list(tmp_path.iterdir())
