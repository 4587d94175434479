"""Before a service starts again, its log is read as a whole: what is done for each record, the engine does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

from powercut.guard.log import GuardLog, RecordKind
from powercut.guard.preparation import environment
from powercut.guard.present import read_present
from tests.guard_kit import Made, start_of_log, write_segment

BASE = bytes(1 << 16)
RECORDS = 4000
FIRST = 4


def calls_of(run: Callable[[], object]) -> int:
    """How many functions are called, C functions too: the same on every machine, whatever its load."""
    calls = 0

    def count(_frame: FrameType, event: str, _about: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def make_log(folder: Path) -> bytes:
    """A log that was reclaimed, and what it says that its pool holds: half of it is told as what the base shall be."""
    kinds = (RecordKind.BASE, RecordKind.UPDATE)
    words = [(16 * i % len(BASE), (i + 1).to_bytes(8, "little")) for i in range(RECORDS)]
    made = [Made(FIRST + i, kinds[i % 2], at, word) for i, (at, word) in enumerate(words)]
    write_segment(folder, 1, [*start_of_log(folder, BASE), *made])
    content = bytearray(BASE)
    for at, word in words:
        content[at : at + 8] = word
    return bytes(content)


def test_a_start_does_nothing_for_each_record_by_itself(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    (log / "pool").write_bytes(make_log(log))
    assert calls_of(lambda: environment(log, [], print)) < RECORDS / 2


def test_what_the_base_shall_be_is_laid_over_it_at_once(tmp_path: Path) -> None:
    content = make_log(tmp_path)
    log = GuardLog(tmp_path)
    now, start = np.zeros(len(BASE) - 96, np.uint8), 36  # begins and ends within a record
    assert calls_of(lambda: log.lay_reclaimed(log.pools[1], now, start)) < RECORDS / 2
    for at in range(32, start + len(now), 32):
        low, high = max(at, start), min(at + 8, start + len(now))
        assert now[low - start : high - start].tobytes() == content[low:high]


def test_numbers_that_are_free_follow_what_was_found(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    content = bytearray(make_log(log))
    content[:8], content[640:648] = b"\xff" * 8, b"\xff" * 8
    (log / "pool").write_bytes(content)
    given = environment(log, [], print)
    segment, sequence = (int(number) for number in given["POWERCUT_GUARD_NEXT"].split())
    there = read_present(log)
    assert (segment, sequence) == there.next_numbers == (3, FIRST + RECORDS + 2)
    assert there.pools[1].now(0, len(BASE)) == content, "which the next start finds explained"
