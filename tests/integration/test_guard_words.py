"""What `powercut guard` says, and how it exits, where something else is wrong than the pool."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import POWERCUT

from powercut.guard.endings import Ending, remembered
from powercut.guard.housekeeping import SEGMENT
from powercut.guard.log import last_segment
from powercut.guard.preparation import environment
from powercut.guard.unseen import Unseen
from tests.needs import needs_pmdk

PROGRAMS = Path(__file__).parents[1] / "guard_programs"

pytestmark = needs_pmdk


@pytest.fixture(autouse=True)
def persistent_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")


def guard(log: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([POWERCUT, "guard", "--log", log, *words], stderr=subprocess.PIPE, text=True, check=False)


def test_two_kills_from_outside_are_no_hard_fault(tmp_path: Path) -> None:
    """Nothing that a program reads from its pool makes it kill itself so."""
    log = tmp_path / "log"
    done = guard(log, "--restarts", "2", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 3
    assert done.stderr.count("from outside") == 3 and "[hard-fault]" not in done.stderr
    assert len(remembered(log)) == 3
    killed = Ending("signal", signal.SIGKILL)
    assert not killed.resembles(killed) and not killed.is_good


def build_alone(folder: Path, *flags: str) -> Path:
    program = folder / "alone"
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", *flags, "-o", program, PROGRAMS / "alone.c"], check=True)
    return program


def test_changes_that_nobody_can_see_are_told_at_the_end(tmp_path: Path) -> None:
    program, pool, log = build_alone(tmp_path), tmp_path / "pool", tmp_path / "log"
    pool.write_bytes(bytes(1 << 16))
    done = guard(log, "--pool", pool, "--", program, pool, "x")
    assert done.returncode == 0 and done.stderr.count("[guard-blind]") == 1
    done = guard(log, "--pool", pool, "--", program, pool)
    assert "guard-blind" not in done.stderr, "this time nothing was changed"


def test_changes_that_nobody_can_see_are_told_while_the_service_runs(tmp_path: Path) -> None:
    """A service may run for a year."""
    program, pool, log = build_alone(tmp_path), tmp_path / "pool", tmp_path / "log"
    pool.write_bytes(bytes(1 << 16))
    log.mkdir()
    said: list[str] = []
    given = {**os.environ, **environment(log, [pool], print)}
    with (
        subprocess.Popen([program, pool, "x", "stay"], env=given) as process,
        Unseen(log, log / "1.segment", [pool], said.append, soon=0.02) as unseen,
    ):
        end = time.monotonic() + 20
        while not any("guard-blind" in text for text in said):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.terminate()
        process.wait()
        unseen.say_at_end()
    assert sum("guard-blind" in text for text in said) == 1


def test_a_static_program_is_told_that_nothing_of_it_is_seen(tmp_path: Path) -> None:
    program, pool = build_alone(tmp_path, "-static"), tmp_path / "pool"
    done = guard(tmp_path / "log", "--pool", pool, "--", program, pool, "x")
    assert done.returncode == 0 and "[guard-nothing]" in done.stderr
    assert "statically" in done.stderr and str(pool) in done.stderr


def test_a_log_without_its_base_is_refused_with_words(service: Path, tmp_path: Path) -> None:
    log, words = tmp_path / "log", ["--", service, tmp_path / "pool", "rounds", "3", "1"]
    assert guard(log, *words).returncode == 0
    (log / "pool-1.base").unlink()
    done = guard(log, *words)
    assert done.returncode == 2
    assert "pool-1.base" in done.stderr and "[guard-log-short]" in done.stderr and "--log" in done.stderr


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a log of three segments."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={8 * SEGMENT}", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system")
def test_a_full_disk_does_not_stop_the_next_start(service: Path, small: Path, tmp_path: Path) -> None:
    """What the service did without its log is found at the start after that."""
    log, pool = small / "log", tmp_path / "pool"
    assert guard(log, "--", service, pool, "rounds", "3", "1").returncode == 0
    subprocess.run([service, pool, "rounds", "3", "1"], check=True)  # something to write down
    room = os.statvfs(small)
    (small / "filler").write_bytes(bytes(room.f_bavail * room.f_bsize))
    before = last_segment(log)
    done = guard(log, "--", service, pool, "rounds", "3", "1")
    assert done.returncode == 0
    assert "[guard-log-full]" in done.stderr and "Traceback" not in done.stderr and last_segment(log) == before
    done = guard(log, "--restarts", "1", "--", "false")
    assert done.returncode == 1 and "[hard-fault]" in done.stderr, "known, though it could not be written down"
    (small / "filler").unlink()
    done = guard(log, "--", service, pool, "rounds", "3", "1")
    assert done.returncode == 0 and "made without guard" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system")
def test_where_no_log_can_begin_nobody_says_that_no_pool_was_mapped(service: Path, small: Path, tmp_path: Path) -> None:
    (small / "filler").write_bytes(bytes(8 * SEGMENT - SEGMENT // 2))
    done = guard(small / "log", "--", service, tmp_path / "pool", "rounds", "3", "1")
    assert done.returncode == 0 and "[guard-not-started]" in done.stderr
    assert "[guard-nothing]" not in done.stderr and "nothing was logged: the disk of the log has no room" in done.stderr


def test_a_stopped_supervisor_of_a_service_that_ended_refuses_a_second_one(service: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = [POWERCUT, "guard", "--log", log, "--", "sleep", "60"]
    first = subprocess.Popen(words)
    try:
        end = time.monotonic() + 20
        while not (log / "brake").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        done = guard(log, "--", "true")
        assert done.returncode == 2 and "another powercut guard" in done.stderr
    finally:
        first.terminate()
        first.wait()
    assert guard(log, "--", "true").returncode == 0
