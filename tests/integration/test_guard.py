"""The guard on real services: its log tells what a pool holds, whatever happened; faults that come back are known."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from powercut.errors import UsageError
from powercut.guard.endings import place_calls, remembered
from powercut.guard.history import History
from powercut.guard.log import GuardLog, RecordKind
from powercut.guard.log_folder import nobody_writes
from powercut.guard.reclaim import Reclaimed, reclaim, reclaim_ended
from powercut.guard.supervise import Supervisor, Watch
from powercut.trace.symbols import Symbolizer
from tests.needs import needs_pmdk

NEVER_DURABLE = 1024  # bytes in lines that libpmemobj writes without ever making them durable (12 lines were seen)
SOURCE = Path(__file__).parents[1] / "guard_programs" / "service.c"

pytestmark = needs_pmdk


@pytest.fixture(autouse=True)
def persistent_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")


class Guarded:
    """A service in a folder of its own."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.pool, self.log = program, folder / "a pool", folder / "log"
        self.said: list[str] = []

    def run(self, *words: object, restarts: int = 0, watch: Watch | None = None) -> tuple[object, bool]:
        command = [str(self.program), str(self.pool), *map(str, words)]
        supervisor = Supervisor(command, self.log, [], watch or Watch(), self.said.append)
        return supervisor.run(restarts)

    @property
    def history(self) -> History:
        log = GuardLog(self.log)
        return History(log, log.pools[1])


def unexplained(history: History) -> int:
    """Bytes of a pool that its log does not tell."""
    return sum(len(data) for _, data in history.differences())


@pytest.fixture
def guarded(service: Path, tmp_path: Path) -> Guarded:
    return Guarded(service, tmp_path)


def test_the_log_explains_all_of_the_pool(guarded: Guarded) -> None:
    ending, _ = guarded.run("rounds", 300, 4)
    assert ending.is_good
    assert unexplained(guarded.history) <= NEVER_DURABLE
    records = guarded.history.log.records
    assert len(np.unique(records["sequence"])) == len(records)
    assert (records["kind"] == RecordKind.COMMIT).sum() >= 1200
    assert (records["kind"] == RecordKind.ALLOCATE).sum() == (records["kind"] == RecordKind.FREE).sum() + 4


def test_updates_know_their_lines(guarded: Guarded) -> None:
    guarded.run("rounds", 3, 1)
    log = guarded.history.log
    sites = {int(site) for site in log.records["site"][log.of_kind(RecordKind.UPDATE)] if site}
    wanted = next(i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if "SITE: persist" in line)
    places = [place.split("+") for place in place_calls(log, sorted(sites))]
    frames = Symbolizer().resolve((path, int(offset, 16) - 1) for path, offset in places)
    assert wanted in {stack[0].line for stack in frames.values()}


def test_many_threads_fill_many_segments(guarded: Guarded) -> None:
    guarded.run("rounds", 6000, 4)
    log = guarded.history.log
    assert len(list(guarded.log.glob("*.segment"))) > 2
    counted = subprocess.run([guarded.program, guarded.pool, "count"], capture_output=True, text=True, check=True)
    assert counted.stdout.split()[:4] == ["6000"] * 4
    assert (log.records["kind"] == RecordKind.COMMIT).sum() >= 24000


def test_a_log_is_reclaimed_while_threads_write_it(guarded: Guarded) -> None:
    """Whatever they do meanwhile, and when they are killed: the log goes on to explain all of the pool."""
    environment = Supervisor([], guarded.log, [], Watch(), print)._environment()
    command = [guarded.program, guarded.pool, "rounds", "100000000", "2"]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    reclaimed: list[Reclaimed] = []
    while len(reclaimed) < 2:
        assert process.poll() is None
        done = reclaim(guarded.log, floor=0)
        reclaimed += [done] if done is not None else []
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert all(done.after < done.before for done in reclaimed)
    guarded.run("rounds", 5, 4)
    assert unexplained(guarded.history) <= NEVER_DURABLE
    content = guarded.history.content(0, guarded.pool.stat().st_size)
    with nobody_writes(guarded.log):
        assert reclaim_ended(guarded.log, floor=0) is not None
    assert guarded.history.content(0, len(content)) == content


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_service_goes_on_with_a_log_that_is_right(guarded: Guarded, seed: int) -> None:
    """What was under way at the kill is found at the next start: after it the log explains the pool again."""
    guarded.run("rounds", 10, 2)
    environment = Supervisor([], guarded.log, [], Watch(), print)._environment()
    process = subprocess.Popen(
        [guarded.program, guarded.pool, "rounds", "1000000", "4"], env={**os.environ, **environment}
    )
    start = time.monotonic()
    while not (guarded.log / "fault").exists() or time.monotonic() - start < random.Random(seed).uniform(0.1, 0.4):
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    guarded.run("rounds", 5, 4)
    assert unexplained(guarded.history) <= NEVER_DURABLE


def test_a_fault_that_comes_back_is_suspected_to_be_hard(guarded: Guarded) -> None:
    ending, came_back = guarded.run("fault", restarts=3)
    assert came_back and str(ending).startswith("was killed by signal 11") and "service+0x" in str(ending)
    assert len(remembered(guarded.log)) == 2, "the second time is enough"


def test_another_pool_in_the_place_of_one_has_a_history_of_its_own(guarded: Guarded) -> None:
    guarded.run("rounds", 3, 1)
    base = (guarded.log / "pool-1.base").read_bytes()
    guarded.pool.unlink()
    guarded.run("rounds", 5, 1)
    log = GuardLog(guarded.log)
    assert [pool.path for pool in log.pools.values()] == [guarded.pool] * 2
    assert [History(log, pool).is_of_this_pool() for pool in log.pools.values()] == [False, True]
    assert (guarded.log / "pool-1.base").read_bytes() == base


def test_a_service_that_does_not_pass_its_check_is_ended(guarded: Guarded) -> None:
    watch = Watch(check=("false",), every=0.3)
    ending, _ = guarded.run("rounds", 100000000, 1, watch=watch)
    assert str(ending) == "no longer passes its check"


def test_a_log_is_refused_that_is_none(tmp_path: Path) -> None:
    for name, content, code in (
        ("nothing", None, "no-guard-log"),
        ("text", b"not a segment" * 100, "broken-guard-log"),
        ("newer", b"PCGUARD\0" + (99).to_bytes(4, "little") + bytes(100), "guard-log-version"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        if content is not None:
            (folder / "1.segment").write_bytes(content)
        with pytest.raises(UsageError) as raised:
            GuardLog(folder)
        assert raised.value.slug == code


def test_a_segment_cut_anywhere_gives_its_whole_records(guarded: Guarded) -> None:
    guarded.run("rounds", 5, 1)
    path = guarded.log / "1.segment"
    content, whole = path.read_bytes(), GuardLog(guarded.log).records
    used = content.rstrip(b"\0")
    rng = random.Random(1)
    for _ in range(50):
        cut = rng.randrange(64, len(used))
        path.write_bytes(used[:cut])
        records = GuardLog(guarded.log).records
        assert (records == whole[: len(records)]).all() and len(records) < len(whole)


def test_a_record_with_a_wrong_byte_is_passed_over_and_no_other(guarded: Guarded) -> None:
    guarded.run("rounds", 5, 1)
    path = guarded.log / "1.segment"
    content, whole = path.read_bytes(), GuardLog(guarded.log).records
    used = len(content.rstrip(b"\0"))
    rng = random.Random(2)
    for _ in range(50):
        where = rng.randrange(64, used)
        path.write_bytes(content[:where] + bytes([content[where] ^ 0x40]) + content[where + 1 :])
        records = GuardLog(guarded.log).records
        assert len(whole) - 1 <= len(records) <= len(whole)
        assert set(records["sequence"].tolist()) <= set(whole["sequence"].tolist())
