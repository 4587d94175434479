"""The checking engine finds exactly what the rules say, on random operations, under every model."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powercut.assertions.checker import MODELS, recheck
from tests.assertion_kit import write_trace
from tests.models.assertion_twin import EXACT, Twin

BASE = 3 * 4096 - 160  # so that a page ends in the middle
ADDRESSES = st.one_of(st.integers(BASE, BASE + 320), st.integers(0, 5).map(lambda line: BASE + 32 + 64 * line))
SIZES = st.one_of(st.integers(1, 12), st.sampled_from([16, 64, 100, 200]))
ODD_SIZES = st.sampled_from([0, 1 << 31, 0xFFFFFFFF, 8])
SPANS = ("write", "write_nt", "flush", "flush", "is_persistent", "tx_add", "tx_add", "tx_alloc")
RARE = ("exclude", "include", "pool", "unpool")
BARE = ("fence", "fence", "tx_begin", "tx_end", "tx_abort", "checker_start", "checker_end", "scope_start")
OTHER = ("ofence", "dfence", "start", "end")


def ranged(names: tuple[str, ...], sizes: st.SearchStrategy[int]) -> st.SearchStrategy[tuple]:
    return st.tuples(st.sampled_from(names), ADDRESSES, sizes)


OPERATION = st.one_of(
    ranged(SPANS, SIZES),
    ranged(("write", "flush"), SIZES),
    st.tuples(st.sampled_from(BARE)),
    st.tuples(st.just("order"), ADDRESSES, SIZES, ADDRESSES, SIZES),
    st.one_of(ranged(RARE, st.sampled_from([8, 64, 400])), ranged(SPANS, ODD_SIZES), st.tuples(st.sampled_from(OTHER))),
)
THREAD = st.lists(OPERATION, max_size=40).map(lambda operations: [*operations, ("thread_end",)])


def found_by_engine(trace: Path, model: str) -> dict[str, dict]:
    found: dict[str, dict] = defaultdict(lambda: defaultdict(set))
    for result in recheck(trace, model).findings:
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
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(threads=st.lists(THREAD, min_size=1, max_size=3))
def test_engine_finds_what_the_rules_say(tmp_path: Path, model: str, threads: list[list[tuple]]) -> None:
    trace = write_trace(tmp_path / "trace", threads)
    engine = found_by_engine(trace, model)
    for number, operations in enumerate(threads):
        compare(engine[f"t{number}"], Twin(model).run(operations))
