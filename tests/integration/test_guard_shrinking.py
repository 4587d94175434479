"""A log stays small while a service writes it without a pause; nobody waits for that who starts, ends or is told to.

The service fills large pages at once and then writes small places in them: of such a change thousands of parts have
fates of their own.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from harness import POWERCUT

from powercut.errors import UsageError
from powercut.guard import shrinking
from powercut.guard.history import History
from powercut.guard.housekeeping import SEGMENT
from powercut.guard.log import GuardLog, last_segment
from powercut.guard.log_folder import nobody_supervises
from powercut.guard.preparation import environment
from powercut.guard.reclaim import FLOOR, Load, load_of
from powercut.guard.shrinking import BRAKE, TWICE, Shrinking
from powercut.programs import descendants
from tests.needs import needs_pmdk

SOURCE = Path(__file__).parents[1] / "guard_programs" / "pages.c"
FOREVER = "100000000"
SOON = 1.0  # seconds in which who is told to end does

pytestmark = needs_pmdk


@pytest.fixture(autouse=True)
def persistent_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("pages") / "pages"
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE, "-lpmem"], check=True)
    return program


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def load(log: Path) -> Load:
    with suppress(UsageError):
        return load_of(log)
    return Load(0, 0)


@contextmanager
def guarded(pages: Path, folder: Path, rounds: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [pages, folder / "pool", "8", rounds]
    process = subprocess.Popen([POWERCUT, "guard", "--log", folder / "log", "--", *words], stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def is_reclaimed_now(log: Path) -> bool:
    with suppress(OSError), (log / "reclaiming").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_log_written_without_a_pause_stays_below_twice_its_bound(pages: Path, tmp_path: Path) -> None:
    """And whoever ends the service in the middle of that is obeyed soon."""
    log, most = tmp_path / "log", 0.0
    with guarded(pages, tmp_path, FOREVER) as process:
        while not log.exists() or last_segment(log) < 60:  # half a gigabyte
            assert process.poll() is None
            now = load(log)
            most = max(most, now.fresh / now.bound)
            time.sleep(0.01)
        until(lambda: is_reclaimed_now(log))
        began = time.monotonic()
        process.terminate()
        assert process.wait() == 0
        assert time.monotonic() - began < SOON
    assert 0.5 < most <= TWICE
    assert load(log).compacted < 40 << 20, "three versions of the places, and the pages"


def test_a_start_and_an_end_do_not_wait_for_a_large_log(pages: Path, tmp_path: Path) -> None:
    """A log of which too much was left by a supervisor that was killed: it is reclaimed while the service runs."""
    log = tmp_path / "log"
    log.mkdir()
    words = [pages, tmp_path / "pool", "8", "90"]
    subprocess.run(words, env={**os.environ, **environment(log, [], print)}, check=True)
    assert load(log).fresh > TWICE * load(log).bound
    with guarded(pages, tmp_path, FOREVER) as process:
        before = last_segment(log)
        until(lambda: last_segment(log) > before + 1)  # one may be of what was found
        until(lambda: load(log).compacted)
        assert process.poll() is None
    history = History(told := GuardLog(log), told.pools[1])
    assert sum(len(data) for _, data in history.differences()) <= 64, "but for the line that was under way"


def test_what_services_leave_that_end_soon_is_reclaimed_when_nobody_waits(pages: Path, tmp_path: Path) -> None:
    with guarded(pages, tmp_path, "90") as process:
        assert process.wait() == 0
    until(lambda: load(tmp_path / "log").fresh <= TWICE * load(tmp_path / "log").bound)


def test_the_process_does_all_that_is_left_when_powercut_has_ended(pages: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    subprocess.run([pages, tmp_path / "pool", "8", "90"], env={**os.environ, **environment(log, [], print)}, check=True)
    assert load(log).fresh > TWICE * load(log).bound
    command = [sys.executable, "-m", shrinking.__name__, str(log), "3"]
    subprocess.run(command, input="rest\n", text=True, check=True, stdout=subprocess.DEVNULL)
    assert load(log).fresh < load(log).bound, "in more than one step"


def test_a_start_is_told_to_end_while_it_reads_the_log(pages: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    subprocess.run([pages, tmp_path / "pool", "8", "90"], env={**os.environ, **environment(log, [], print)}, check=True)
    before = last_segment(log)
    with guarded(pages, tmp_path, FOREVER) as process:
        until(lambda: (log / "supervisor").exists())
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait()
        assert time.monotonic() - began < SOON
    assert last_segment(log) == before, "the service was not started"


def test_a_service_waits_while_the_brake_is_held_but_not_for_ever(pages: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    command = [pages, tmp_path / "pool", "8", "20"]
    given = {**os.environ, **environment(log, [], print)}
    with (log / BRAKE).open("wb") as brake:
        fcntl.flock(brake, fcntl.LOCK_EX)
        began = time.monotonic()
        subprocess.run(command, env=given, check=True)
        waited = time.monotonic() - began
    assert waited >= 0.1 * (last_segment(log) - 1) > 0.1, "a tenth of a second for each segment but the first"


@pytest.mark.parametrize(("asked", "waited"), [(300, 0.3), (1 << 31, 0.5)])
def test_a_service_waits_longer_if_it_is_asked_to(pages: Path, tmp_path: Path, asked: int, waited: float) -> None:
    log = tmp_path / "log"
    log.mkdir()
    given = {**os.environ, **environment(log, [], print)}
    with (log / BRAKE).open("wb", buffering=0) as brake:
        brake.write(asked.to_bytes(4, "little"))
        fcntl.flock(brake, fcntl.LOCK_EX)
        began = time.monotonic()
        subprocess.run([pages, tmp_path / "pool", "8", "6"], env=given, check=True)
        took = time.monotonic() - began
    assert took >= waited * (last_segment(log) - 1) > 0


def test_the_nearer_a_log_is_to_twice_its_bound_the_more_patience_is_asked_for(tmp_path: Path) -> None:
    with Shrinking(tmp_path, 3, print) as shrinking, (tmp_path / BRAKE).open("rb") as looks:
        asked = []
        for number in range(1, TWICE * FLOOR // SEGMENT + 1):
            (tmp_path / f"{number}.segment").touch()
            os.truncate(tmp_path / f"{number}.segment", SEGMENT)
            shrinking.look()
            asked.append(int.from_bytes(os.pread(looks.fileno(), 4, 0), "little"))
        assert asked == [0] * 10 + [100] * 3 + [500] * 3


def test_a_second_guard_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    with nobody_supervises(log):
        done = subprocess.run(
            [POWERCUT, "guard", "--log", log, "--", "true"], stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "another powercut guard is running" in done.stderr and "[guard-running]" in done.stderr


def test_who_tells_a_service_to_end_does_not_wait_for_its_check(pages: Path, tmp_path: Path) -> None:
    """The check would take a minute; nothing of it is left."""
    asked, log = tmp_path / "asked", tmp_path / "log"
    check = f"sh -c 'echo $$ > {asked}; sleep 60; true'"
    command = [POWERCUT, "guard", "--log", log, "--check", check, "--every", "0.1", "--timeout", "60"]
    process = subprocess.Popen([*command, "--", pages, tmp_path / "pool", "2", FOREVER])
    until(lambda: asked.exists() and asked.read_text().endswith("\n"))
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    assert time.monotonic() - began < SOON
    assert not descendants(int(asked.read_text())) and not Path(f"/proc/{asked.read_text().strip()}").exists()


def test_the_brake_never_waits_for_a_service_that_looks_at_it(tmp_path: Path) -> None:
    """One that is stopped while it looks would keep whoever ends powercut waiting."""
    (tmp_path / "1.segment").touch()
    os.truncate(tmp_path / "1.segment", 3 * FLOOR)
    with Shrinking(tmp_path, 3, print) as shrinking, (tmp_path / BRAKE).open("rb") as looks:
        fcntl.flock(looks, fcntl.LOCK_SH)
        shrinking.look()
        fcntl.flock(looks, fcntl.LOCK_UN)
        shrinking.look()
        with pytest.raises(BlockingIOError):
            fcntl.flock(looks, fcntl.LOCK_SH | fcntl.LOCK_NB)
