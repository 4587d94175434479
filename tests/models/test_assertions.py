"""The checking engine finds exactly what the rules say, on random operations, under every model."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powercut.assertions.checker import MODELS, recheck
from tests.assertion_kit import NUMBER, write_records, write_trace
from tests.models.assertion_twin import EXACT, Twin

BASE = 3 * 4096 - 128  # so that a page ends in the middle
OBJECTS = [(BASE, 8), (BASE + 8, 8), (BASE + 60, 8), (BASE + 64, 16), (BASE + 100, 60), (BASE + 128, 64), (BASE, 256)]
OBJECTS += [(BASE + 72, 4), (BASE + 68, 8), (BASE + 190, 3)]
ODD = [(BASE, 0), (BASE, 1 << 31), (BASE, 0xFFFFFFFF)]
OFTEN = ["write"] * 6 + ["flush"] * 5 + ["fence"] * 4 + ["is_persistent"] * 2 + ["order"] * 3 + ["write_nt"]
TRANSACTIONS = ["tx_begin", "tx_end", "tx_add", "tx_add", "tx_add", "tx_alloc", "checker_start", "checker_end"]
RARE = ["library_flush"] * 3
RARE += [
    "tx_abort",
    "scope_start",
    "tx_add_if",
    "trace_end",
    "exclude",
    "include",
    "pool",
    "unpool",
    "ofence",
    "dfence",
    "start",
    "end",
]
BARE = {"fence", "ofence", "dfence", "tx_begin", "tx_end", "tx_abort", "checker_start", "checker_end", "scope_start"}
BARE |= {"start", "end", "trace_end"}
THREADS, LENGTH = 60, 50


def operation(name: str, one: tuple[int, int], other: tuple[int, int]) -> tuple:
    return (name,) if name in BARE else (name, *one, *(other if name == "order" else ()))


def random_thread(seed: int) -> list[tuple]:
    """Many operations on a few objects that overlap, share lines and cross a page."""
    chance = random.Random(seed)
    names = chance.choice([OFTEN, OFTEN + TRANSACTIONS, OFTEN + 2 * TRANSACTIONS + RARE])
    pool = [("pool", BASE, 250)] if chance.random() < 0.2 else []
    operations = []
    for _ in range(chance.randint(5, LENGTH)):
        name = chance.choice(names)
        objects = OBJECTS if name in RARE else [*OBJECTS * 5, *ODD]
        operations.append(operation(name, *chance.choices(objects, k=2)))
    return [*pool, *operations, ("thread_end",)]


def apart(operations: list[tuple], number: int) -> list[tuple]:
    """The same elsewhere: where threads share pages, warnings of flushes are held back."""
    by = number << 16
    return [(name, *(word + by * (i % 2 == 0) for i, word in enumerate(rest))) for name, *rest in operations]


def found_by_engine(trace: Path, model: str) -> dict[str, dict]:
    outcome = recheck(trace, model)
    assert outcome.lost == 0
    found: dict[str, dict] = defaultdict(lambda: defaultdict(set))
    for result in outcome.findings:
        assert result.at is not None
        beside = tuple(place.line - 1 if place else None for place in (result.write, result.other))
        found[result.at.file][result.kind, result.why, result.at.line - 1].add(beside)
    return found


def compare(engine: dict, twin: dict) -> None:
    assert set(engine) == set(twin)
    for key, pairs in engine.items():
        if key[0] in EXACT:
            assert pairs == twin[key], key
        else:
            assert pairs <= twin[key], key


@pytest.mark.parametrize("model", MODELS)
def test_engine_finds_what_the_rules_say(tmp_path: Path, model: str) -> None:
    seen: Counter[str] = Counter()
    for batch in range(4):
        threads = [apart(random_thread(batch * THREADS + number), number) for number in range(THREADS)]
        engine = found_by_engine(write_trace(tmp_path / "trace", threads), model)
        for number, operations in enumerate(threads):
            expected = Twin(model).run(operations)
            compare(engine[f"t{number}"], expected)
            seen.update(kind for kind, _, _ in expected)
    assert min(seen[kind] for kind in ("not-persistent", "not-ordered", "missing-backup", "duplicate-log")) > 10, seen


SMALL = st.builds(operation, st.sampled_from(OFTEN + TRANSACTIONS + RARE), *[st.sampled_from(OBJECTS)] * 2)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model=st.sampled_from(MODELS), operations=st.lists(SMALL, max_size=30))
def test_engine_finds_what_the_rules_say_with_small_examples(tmp_path: Path, model: str, operations: list) -> None:
    """The same, for an example that can be read when it fails."""
    engine = found_by_engine(write_trace(tmp_path / "trace", [operations]), model)
    compare(engine["t0"], Twin(model).run(operations))


FIELDS = [(BASE + 8 * number, 8) for number in range(200)]


def long_thread(seed: int) -> list[tuple]:
    """Hundreds of fences over hundreds of small fields: pages become crowded, and old detail is given up."""
    chance = random.Random(seed)
    names = ["write"] * 8 + ["flush"] * 6 + ["fence"] * 4 + ["is_persistent", "order", "tx_begin", "tx_add", "tx_end"]
    return [operation(chance.choice(names), *chance.choices([*FIELDS, (BASE, 256)], k=2)) for _ in range(3000)]


@pytest.mark.parametrize("model", MODELS)
def test_old_state_is_kept_well_enough(tmp_path: Path, model: str) -> None:
    """Everything is still found; only the places beside it may be those of a neighbour."""
    operations = long_thread(1)
    engine = found_by_engine(write_trace(tmp_path / "trace", [operations]), model)["t0"]
    expected = Twin(model).run(operations)
    assert set(engine) == set(expected)
    assert {key: pairs for key, pairs in engine.items() if key[0] in EXACT} == {
        key: pairs for key, pairs in expected.items() if key[0] in EXACT
    }


def test_persistent_data_is_forgotten_and_other_data_is_not(tmp_path: Path) -> None:
    """Far more pages than are kept: no false alarm, and what was never flushed is found at the end."""
    first, pages = 1 << 30, 20_000
    operations: list[tuple] = [("write", first - 8192, 8)]
    for page in range(pages):
        operations += [("write", first + page * 4096, 64), ("flush", first + page * 4096, 64), ("fence",)]
    operations += [("is_persistent", first + page * 4096, 64) for page in (0, 1, pages - 1)]
    operations += [("is_persistent", first - 8192, 8), ("write", first, 8), ("is_persistent", first, 8)]
    engine = found_by_engine(write_trace(tmp_path / "trace", [operations]), "x86")["t0"]
    end = len(operations)
    assert set(engine) == {("not-persistent", "not-flushed", end - 3), ("not-persistent", "not-flushed", end - 1)}


def test_too_much_that_is_not_persistent_is_told(tmp_path: Path) -> None:
    operations = [("write", 1 << 30, 1 << 30), ("write", 1 << 40, 1 << 20), ("is_persistent", 1 << 30, 8)]
    engine = found_by_engine(write_trace(tmp_path / "trace", [operations]), "x86")["t0"]
    assert set(engine) == {("out-of-bounds", "state", 1), ("not-persistent", "not-flushed", 2)}


def test_a_gigabyte_is_tracked_wherever_it_begins(tmp_path: Path) -> None:
    for start in (1 << 30, (1 << 30) + 64, (1 << 30) + 4032):
        whole = (start, 1 << 30)
        operations = [("tx_begin",), ("tx_add", *whole), ("write", *whole), ("flush", *whole), ("fence",)]
        operations += [("is_persistent", *whole), ("tx_end",)]
        assert not found_by_engine(write_trace(tmp_path / "trace", [operations]), "x86")


def test_nothing_follows_from_a_write_that_was_too_much(tmp_path: Path) -> None:
    """It is not known what was written; a flush of it is no waste, and what was added is no missing backup."""
    one, two = (1 << 30, 1 << 30), (1 << 40, 1 << 21)
    operations = [("tx_begin",), ("tx_add", *one), ("tx_add", *two), ("write", *one), ("write", *two), ("flush", *two)]
    operations += [("fence",), ("tx_end",), ("tx_begin",), ("write", *one), ("tx_end",)]
    engine = found_by_engine(write_trace(tmp_path / "trace", [operations]), "x86")["t0"]
    assert set(engine) == {("out-of-bounds", "state", 2), ("out-of-bounds", "state", 4), ("missing-backup", "", 9)}


def counts(trace: Path, model: str = "x86") -> Counter[tuple[str, str]]:
    return Counter({(result.kind, result.why): result.count for result in recheck(trace, model).findings})


def test_executions_are_counted_not_pieces_of_memory(tmp_path: Path) -> None:
    """The places stand for lines that are executed again and again."""
    write, flush, ask, start, end = (
        NUMBER[name] for name in ("write", "flush", "is_persistent", "checker_start", "end")
    )
    records = [(write, 1, BASE, 256), (flush, 2, BASE + 64, 64), *[(ask, 3, BASE, 256)] * 5, *[(start, 4, 0, 0)] * 100]
    path = write_records(tmp_path / "trace", [*records, (end, 5, 0, 0)], sites=5)
    assert counts(path) == {
        ("not-persistent", "not-flushed"): 5,
        ("not-persistent", "not-fenced"): 5,
        ("wrong-use", "checker-start-without-end"): 100,
        ("wrong-use", "end-without-start"): 1,
    }


def test_scope_that_is_never_ended_ends_with_the_tracking(tmp_path: Path) -> None:
    operations = [("start",), ("scope_start",), ("tx_add", BASE, 8), ("end",)] * 3
    engine = found_by_engine(write_trace(tmp_path / "trace", [operations]), "x86")["t0"]
    assert set(engine) == {("wrong-use", "checker-start-without-end", at) for at in (1, 5, 9)}


def test_large_program_of_one_thread_is_still_told_of_needless_flushes(tmp_path: Path) -> None:
    pages = [1 << 30 | page << 12 for page in range(40_000)]
    operations = [("flush", 1 << 20, 8), *(("write", page, 8) for page in pages), ("flush", 1 << 21, 8)]
    engine = found_by_engine(write_trace(tmp_path / "trace", [operations]), "x86")["t0"]
    end = len(operations) - 1
    assert set(engine) == {("unnecessary-writeback", "not-written", at) for at in (0, end)}


def test_flush_of_what_another_thread_wrote_is_no_waste(tmp_path: Path) -> None:
    writer = [("write", BASE, 8)]
    flusher = [("flush", BASE, 8), ("flush", BASE + (1 << 20), 8)]
    for threads, name in (([writer, flusher], "t1"), ([flusher, writer], "t0")):
        engine = found_by_engine(write_trace(tmp_path / "trace", threads), "x86")
        assert set(engine[name]) == {("unnecessary-writeback", "not-written", 1)}
