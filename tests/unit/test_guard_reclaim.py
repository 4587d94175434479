"""A reclaimed log tells of each byte the newest versions and what was before them, as a plain account of all does."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from powercut.errors import UsageError
from powercut.guard.endings import place_calls
from powercut.guard.log import CHANGES, GuardLog, RecordKind
from powercut.guard.log_folder import nobody_writes
from powercut.guard.present import read_present
from powercut.guard.reclaim import reclaim, reclaim_ended
from powercut.heal.leaks import _allocations
from tests.guard_kit import Made, Truth, history_of, size_of, start_of_log, told_by, write_segment

PAGE = 4096  # a change over the end of a page of counters is cut there, and must not stay so
BASE = bytes(range(1, 251)) * 18
SEGMENT = 1 << 15  # bytes: more than a compacted one gets here, so that each round is worth it
FIRST = 4  # sequence number behind the start of a log


@st.composite
def changes(draw: st.DrawFn) -> tuple[RecordKind, int, bytes, int]:
    """Kind, offset, data and transaction of a change near the end of a page, or of an object that is freed there."""
    kind = draw(st.sampled_from((*CHANGES, RecordKind.FREE)))
    offset = PAGE - 20 + draw(st.integers(0, 40))
    data = draw(st.binary(min_size=1, max_size=24))
    return kind, offset, data[:1] * len(data) if kind == RecordKind.FILL else data, draw(st.integers(0, 2))


def numbered(found: Sequence[tuple[RecordKind, int, bytes, int]], first: int) -> list[Made]:
    return [
        Made(first + i, kind, offset, data, 0x1000 + i, transaction, first + i, 1 + i % 3)
        for i, (kind, offset, data, transaction) in enumerate(found)
    ]


def nine_versions() -> list[Made]:
    """Of the same bytes."""
    return numbered([(RecordKind.UPDATE, 8, bytes([i]) * 8, 0) for i in range(9)], FIRST)


@contextmanager
def fresh_log() -> Iterator[tuple[Path, Truth]]:
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # thousands of syncs
    with TemporaryDirectory(dir=memory) as name:
        folder = Path(name)
        write_segment(folder, 1, start_of_log(folder, BASE))
        yield folder, Truth(BASE)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(changes(), max_size=25), min_size=1, max_size=4), st.integers(1, 4), st.randoms())
def test_the_newest_versions_stay_and_all_before_them_is_in_the_base(
    rounds: list[list[tuple[RecordKind, int, bytes, int]]], keep: int, rng: random.Random
) -> None:
    frees = [offset for found in rounds for kind, offset, *_ in found if kind == RecordKind.FREE]
    assume(all(frees.count(offset) <= keep for offset in frees))  # of more at a place, the oldest are forgotten
    with fresh_log() as (folder, truth):
        sequence = FIRST
        for number, found in enumerate(rounds, 2):
            made = numbered(found, sequence)
            truth.add(made)
            rng.shuffle(made)
            write_segment(folder, number, made, size=SEGMENT)
            sequence += len(found)
            reclaim_ended(folder, keep, floor=0)
            assert truth.wrong(folder, keep) == []
            assert len(list(folder.glob("*.segment"))) == 1
            told = told_by(folder)
            assert told.content(keep) == history_of(folder).content(0, len(BASE)) == truth.content(keep)
            assert read_present(folder).pools[1].now(0, len(BASE)) == truth.content(keep)
            assert max(map(len, told.versions.values()), default=0) <= keep + 1, "but for what bridges a gap"
            taken = frozenset(rng.sample(range(FIRST, sequence), (sequence - FIRST) // 2))
            assert told.content(keep, taken) == truth.content(keep, taken)


@settings(max_examples=100, deadline=None)
@given(st.lists(changes(), min_size=4, max_size=60), st.integers(1, 3), st.randoms())
def test_a_log_is_reclaimed_while_it_is_written(
    found: list[tuple[RecordKind, int, bytes, int]], keep: int, rng: random.Random
) -> None:
    """Threads take room, then a number: near the end of a segment the order of both differs; some are late."""
    with fresh_log() as (folder, truth):
        made = numbered(found, FIRST)
        truth.add(made)
        segments: dict[int, list[Made]] = {2: []}
        firsts = {2: FIRST}
        for record in made:
            if rng.random() < 0.2:
                firsts[max(segments) + 1] = record.sequence
                segments[max(segments) + 1] = []
            segments[rng.choice(sorted(segments)[-2:])].append(record)
        done = rng.randrange(2, max(segments) + 1)
        for number, records in segments.items():
            there = records if number <= done else [record for record in records if rng.random() < 0.5]
            write_segment(folder, number, there, complete=number <= done, first=firsts[number], size=SEGMENT)
        reclaim(folder, keep, floor=0)
        for number, records in segments.items():
            if number > done:
                write_segment(folder, number, records, complete=False, first=firsts[number], size=SEGMENT)
        assert truth.wrong(folder, keep) == []
        assert read_present(folder).pools[1].now(0, len(BASE)) == truth.content(keep)
        reclaim_ended(folder, keep, floor=0)
        assert truth.wrong(folder, keep) == []


def test_a_log_that_is_written_for_ever_stays_small(tmp_path: Path) -> None:
    """Whatever is written, and how often: twice what is kept, and the floor."""
    rng = random.Random(1)
    write_segment(tmp_path, 1, start_of_log(tmp_path, BASE))
    following, floor, keep = count(FIRST), 1 << 14, 3
    places = [PAGE - 512 + 16 * i for i in range(60)]
    most = 0
    for number in range(2, 200):
        made = []
        for at in rng.choices(places, k=10):
            for kind in (RecordKind.ALLOCATE, RecordKind.UPDATE, RecordKind.FREE):
                made.append(Made(next(following), kind, at, rng.randbytes(16), transaction=number))
        write_segment(tmp_path, number, made)
        reclaim_ended(tmp_path, keep, floor)
        most = max(most, size_of(tmp_path))
    kept = keep * len(places) * 3 * 64  # each version with its allocation and free, a line each
    assert most <= 2 * (kept + 1024) + floor + 4096
    assert size_of(tmp_path) < 200 * 30 * 64 / 4, "that is not what it would have been anyway"


def test_a_large_fill_with_many_small_changes_in_it_takes_time_in_proportion(tmp_path: Path) -> None:
    """A part of a fill is looked at once, however many other parts there are; else this takes ten seconds and more."""
    size = 1 << 20
    write_segment(tmp_path, 1, start_of_log(tmp_path, bytes(size)))
    small = [(RecordKind.UPDATE, at, bytes([i]) * 8, 0) for i in range(4) for at in range(0, size, 256)]
    write_segment(tmp_path, 2, numbered([(RecordKind.FILL, 0, b"x" * size, 0), *small], FIRST))
    began = time.process_time()
    assert reclaim_ended(tmp_path, 3, floor=0) is not None
    assert time.process_time() - began < 2


def test_a_log_is_reclaimed_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest segments first, as much as is kept: a step that is killed costs no more than that."""
    monkeypatch.setattr("powercut.guard.reclaim._STEP", 3 * SEGMENT)
    truth, sequence = Truth(BASE), FIRST
    write_segment(tmp_path, 1, start_of_log(tmp_path, BASE))
    for number in range(2, 12):
        made = numbered([(RecordKind.UPDATE, 8 * i, bytes([number]) * 8, 0) for i in range(9)], sequence)
        truth.add(made)
        write_segment(tmp_path, number, made, first=sequence, size=SEGMENT)
        sequence += len(made)
    sizes = []
    while (done := reclaim(tmp_path, 3, floor=SEGMENT)) is not None:
        sizes.append(done.before)
        assert truth.wrong(tmp_path, 3) == []
    assert len(sizes) == 3 and max(sizes) < 4 * SEGMENT


def test_what_explains_the_kept_records_is_kept(tmp_path: Path) -> None:
    """Lines, transactions whole, the last allocation of each place; runs of which nothing is left are gone."""
    rng, following, keep = random.Random(2), count(FIRST), 2
    write_segment(tmp_path, 1, start_of_log(tmp_path, BASE))
    for number in range(2, 30):
        base = 0x1000 * number
        made = [
            Made(next(following), RecordKind.START, 0, b"/service"),
            Made(next(following), RecordKind.MODULE, base, b"/service"),
        ]
        for _ in range(5):
            at, transaction = 16 * rng.randrange(20), next(following)
            made += [
                Made(next(following), RecordKind.ALLOCATE, at, bytes(16), base + at, transaction),
                Made(next(following), RecordKind.UPDATE, at, bytes([transaction % 251]) * 16, base + at, transaction),
                Made(next(following), RecordKind.COMMIT, 0, b"", transaction=transaction),
            ]
        write_segment(tmp_path, number, made)
    before, after = explained(tmp_path), None
    last = by_sequence(tmp_path, _allocations(history_of(tmp_path)))
    reclaim_ended(tmp_path, keep, floor=0)
    after = explained(tmp_path)
    assert set(after.items()) <= set(before.items()) and 20 <= len(after) <= 40
    assert by_sequence(tmp_path, _allocations(history_of(tmp_path))) == last
    starts = GuardLog(tmp_path).of_kind(RecordKind.START)
    assert 2 < len(starts) < 29


def explained(folder: Path) -> dict[int, tuple[object, ...]]:
    """Of each change: the place that made it, and what belongs to its transaction."""
    log = GuardLog(folder)
    told = {}
    for index in log.of_kind(RecordKind.UPDATE).tolist():
        row = log.records[index]
        is_part = (log.records["transaction"] == row["transaction"]) & (log.records["kind"] != RecordKind.BASE)
        together = log.records[is_part]
        kinds = tuple(sorted(zip(together["kind"].tolist(), together["sequence"].tolist(), strict=True)))
        told[int(row["sequence"])] = (place_calls(log, [int(row["site"])], before=index), kinds)
    return told


def by_sequence(folder: Path, records: dict[int, int]) -> dict[int, int]:
    sequences = GuardLog(folder).records["sequence"]
    return {at: int(sequences[index]) for at, index in records.items()}


def test_a_small_log_and_one_that_has_not_doubled_are_left_alone(tmp_path: Path) -> None:
    write_segment(tmp_path, 1, start_of_log(tmp_path, BASE))
    made = numbered([(RecordKind.UPDATE, 64 * i, b"x" * 64, 0) for i in range(20)], FIRST)
    write_segment(tmp_path, 2, made)
    assert reclaim_ended(tmp_path, floor=1 << 20) is None
    assert reclaim_ended(tmp_path, floor=1024) is not None
    write_segment(tmp_path, 3, numbered([(RecordKind.UPDATE, 0, b"x" * 64, 0)] * 10, 100))
    assert reclaim_ended(tmp_path, floor=1024) is None, "what is new is less than what is kept"
    assert sorted(path.name for path in tmp_path.glob("*.segment")) == ["2.segment", "3.segment"]


def test_what_a_reclaim_that_was_cut_short_left_is_removed_by_the_next(tmp_path: Path) -> None:
    with fresh_log() as (folder, truth):
        made = nine_versions()
        truth.add(made)
        write_segment(folder, 2, made)
        write_segment(folder, 3, [])
        old = (folder / "2.segment").read_bytes()
        assert reclaim_ended(folder, 3, floor=0) is not None
        (folder / "2.segment").write_bytes(old)
        (folder / "9.segment.part").write_bytes(b"half")
        assert truth.wrong(folder, 3) == [], "they do not count"
        reclaim_ended(folder, 3, floor=0)
        assert sorted(path.name for path in folder.glob("*.segment*")) == ["3.segment"]


def test_a_service_that_begins_another_segment_meanwhile_loses_nothing(tmp_path: Path) -> None:
    """The last segment of a log that is written is never touched, even if it is complete."""
    write_segment(tmp_path, 1, start_of_log(tmp_path, BASE))
    write_segment(tmp_path, 2, nine_versions(), first=FIRST)
    before = (tmp_path / "2.segment").read_bytes()
    reclaim(tmp_path, 1, floor=0)
    assert (tmp_path / "2.segment").read_bytes() == before


def test_a_change_of_which_parts_are_left_is_one(tmp_path: Path) -> None:
    write_segment(tmp_path, 1, start_of_log(tmp_path, BASE))
    inner = [(RecordKind.UPDATE, 8, bytes([i]) * 8, 0) for i in range(3)]
    write_segment(tmp_path, 2, numbered([(RecordKind.UPDATE, 0, b"x" * 24, 0), *inner], FIRST))
    reclaim_ended(tmp_path, 3, floor=0)
    history = history_of(tmp_path)
    spans = [(int(history.log.records["offset"][i]), history.log.data(i)) for i in history.parts_of(history.changes[0])]
    assert spans == [(0, b"x" * 8), (16, b"x" * 8)]
    assert history.updates == 4 and len(history.changes) == 5
    assert history.reaches(history.changes[2]) and not history.reaches(history.changes[0])


def test_two_programs_do_not_put_one_log_in_order(tmp_path: Path) -> None:
    with nobody_writes(tmp_path), pytest.raises(UsageError) as raised, nobody_writes(tmp_path):
        pass
    assert raised.value.slug == "guard-running"


def test_what_tells_of_another_pool_with_the_same_number_is_gone(tmp_path: Path) -> None:
    """A power cut took the record of the first pool 1; the number was given again, and its base is another."""
    start, module, pool = start_of_log(tmp_path, BASE)
    before = numbered([(RecordKind.UPDATE, 8, bytes([i]) * 8, 0) for i in range(9)], 20)
    after = numbered([(RecordKind.UPDATE, 8, b"new data", 0)], 50)
    write_segment(tmp_path, 1, [start, module, *before, replace(pool, sequence=40), *after])
    reclaim_ended(tmp_path, 1, floor=0)
    history = history_of(tmp_path)
    assert history.log.base_of(history.pool, 0, len(BASE)) == BASE
    assert history.log.records["sequence"][history.changes].tolist() == [50]


def test_a_pool_whose_base_is_gone_keeps_all_of_its_records(tmp_path: Path) -> None:
    write_segment(tmp_path, 1, start_of_log(tmp_path, BASE))
    write_segment(tmp_path, 2, nine_versions())
    (tmp_path / "pool-1.base").unlink()
    before = GuardLog(tmp_path).records
    assert reclaim_ended(tmp_path, 1, floor=0) is not None
    after = GuardLog(tmp_path).records
    assert (after[["sequence", "offset", "size"]] == before[["sequence", "offset", "size"]]).all()
