"""Whatever ranges a program makes durable, and in whatever pieces they are logged: the log holds every byte of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from powercut.guard.history import History
from powercut.guard.log import GuardLog, RecordKind
from powercut.guard.supervise import Supervisor, Watch
from tests.needs import needs_pmdk

SOURCE = Path(__file__).parents[1] / "guard_programs" / "ranges.c"

pytestmark = needs_pmdk


@pytest.fixture(scope="module")
def ranges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("ranges") / "ranges"
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-Wextra", "-o", program, SOURCE, "-lpmemobj", "-lpmem"], check=True)
    return program


@pytest.mark.parametrize("seed", range(3))
def test_the_log_holds_every_byte_of_random_ranges(ranges: Path, tmp_path: Path, seed: int) -> None:
    pool, log = tmp_path / "pool", tmp_path / "log"
    environment = Supervisor([], log, [], Watch(), print)._environment()
    given = {**os.environ, **environment, "PMEM_IS_PMEM_FORCE": "1"}
    printed = subprocess.run([ranges, pool, str(seed)], env=given, stdout=subprocess.PIPE, text=True, check=True).stdout
    start, size = map(int, printed.split())
    found = GuardLog(log)
    assert History(found, found.pools[1]).content(start, start + size) == pool.read_bytes()[start : start + size]
    sizes = found.records["size"][found.of_kind(RecordKind.UPDATE)]
    assert (np.array([8, 100, 1000, 20_000, 1 << 20]) <= sizes.max()).all(), "long ones, too"
    assert len(np.unique(sizes)) > 200


def test_only_what_changed_is_logged_of_a_range(ranges: Path, tmp_path: Path) -> None:
    """Ranges are given whole, most of their bytes stay as they are."""
    log = tmp_path / "log"
    environment = Supervisor([], log, [], Watch(), print)._environment()
    given = {**os.environ, **environment, "PMEM_IS_PMEM_FORCE": "1"}
    subprocess.run([ranges, tmp_path / "pool", "4"], env=given, stdout=subprocess.DEVNULL, check=True)
    found = GuardLog(log)
    updates = found.of_kind(RecordKind.UPDATE)
    mine = updates[(found.records["transaction"][updates] > 0) & ~found.is_library[updates]]
    committed = len(found.of_kind(RecordKind.COMMIT))
    assert 200 < found.records["size"][mine].sum() / committed < 3000, "20 ranges of 350 bytes, 40 changes of 20"
    saved = found.of_kind(RecordKind.UPDATE, RecordKind.FILL)
    saved = saved[(found.records["transaction"][saved] > 0) & found.is_library[saved]]
    assert found.records["size"][saved].sum() / committed < 700, "not what libpmemobj saves of them: 7000 bytes"
