"""Power cuts while a checkpoint log is reclaimed, found by powercut itself: the log tells the same in all of them.

And each of the syncs of a reclaim is needed for that: without any one of them, powercut finds a state that misleads.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import powercut
from powercut.guard.log import CHANGES, RecordKind
from powercut.guard.reclaim import reclaim_ended
from powercut.runs.store import SavedRun
from tests.guard_kit import Made, Truth, start_of_log, write_segment

KEEP = 3
BASE = bytes(range(250)) * 2
SEGMENTS = range(2, 5)


class Log:
    """A log of a few segments, and all that is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.truth = folder, Truth(BASE)
        folder.mkdir()
        rng, self.segments, sequence = random.Random(3), {}, 4
        for number in SEGMENTS:
            made = []
            for _ in range(12):
                at, kind = rng.randrange(200, 260), rng.choice(CHANGES)
                data = rng.randbytes(1) * 9 if kind == RecordKind.FILL else rng.randbytes(rng.randrange(1, 40))
                made.append(Made(sequence, kind, at, data, transaction=rng.randrange(3)))
                sequence += 1
            self.segments[number] = made
            self.truth.add(made)
        write_segment(folder, 1, start_of_log(folder, BASE))

    def write(self, times: int) -> None:
        """The segments, the first ones reclaimed if the log is to be reclaimed a second time."""
        for number, made in self.segments.items():
            write_segment(self.folder, number, made, size=1 << 15)
            if times > 1 and number == SEGMENTS[-2]:
                reclaim_ended(self.folder, KEEP, floor=0)

    def check(self, folder: Path) -> None:
        """Whatever was cut: all versions are there, and what was before; also when the log is reclaimed again."""
        assert self.truth.wrong(folder, KEEP) == []
        reclaim_ended(folder, KEEP, floor=0)
        assert self.truth.wrong(folder, KEEP) == []


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    monkeypatch.chdir(tmp_path)
    return Log(tmp_path / "log")


def explore(
    log: Log, workload: Callable[[], object], check: Callable[..., object], most: int | None = None
) -> SavedRun:
    return powercut.explore(workload, check, dir=log.folder, fs="posix", lint=False, stacks=False, max_states=most)


def reclaim_again(log: Log, skipped: int = -1) -> None:
    """A reclaim of a log that was reclaimed before; without one of its syncs if that is asked for."""
    sync, calls = os.fsync, iter(range(100))
    os.fsync = lambda file: sync(file) if next(calls) != skipped else None
    reclaim_ended(log.folder, KEEP, floor=0)


@pytest.mark.parametrize("times", [1, 2])
def test_a_cut_at_any_moment_of_a_reclaim_changes_nothing(log: Log, times: int) -> None:
    log.write(times)
    run = explore(log, lambda: reclaim_again(log), log.check)
    assert run.findings == []
    assert run.states["exhausted"] and run.states["tested"] > 10


@pytest.mark.parametrize("skipped", range(3))
def test_each_sync_is_needed(log: Log, skipped: int) -> None:
    """Of the base, of the new file, of the folder."""
    log.write(2)
    assert explore(log, lambda: reclaim_again(log, skipped), log.check, most=400).findings
