"""Representatives find what exhaustive search finds with few of its states, and a rare mistake in a long run soon."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from hunt import MODES, Hunted, Known, hunt
from known_bugs import Store, store_bugs
from search import states_of

BUGS = [bug for bug in store_bugs() if bug.name in ("table-unsynced", "rotation-unsynced", "deep-jumbo")]
# The path without its sync is taken once, after 900 of 1,000 changes.
LONG = ["5", "1000", "--keys", "200", "--memtable", "4096", "--log", "2048", "--table", "8192", "--jumbo-every", "900"]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_representatives_find_what_exhaustive_finds_in_a_tenth_of_its_states(
    built_store: Path, bug: object, data: Path
) -> None:
    store = Store(built_store, bug.name)
    known = Known("store", bug.name, data, store.workload(data, bug.workload), store.check, {"fs": bug.fs[0]})
    trace = known.record()
    found = {
        name: hunt(known, trace, {**MODES[name], "max_states": 400}, budget=60)
        for name in ("exhaustive", "representative")
    }
    assert found["representative"].found >= found["exhaustive"].found, found
    assert found["representative"].found, found
    every, few = states_of(known, trace)
    assert every is not None
    assert 0 < few <= every / 10


def test_a_sync_skipped_once_in_a_long_run_is_found_soon(built_store: Path, data: Path) -> None:
    store = Store(built_store, "deep-rotation")
    workload = [str(built_store), str(data), "run", *LONG, "--bug", "deep-rotation"]
    known = Known("store", "deep-rotation", data, workload, store.check)
    trace = known.record()
    ways = {"all": {}, "representative": MODES["representative"], "exhaustive": MODES["exhaustive"]}
    found: dict[str, Hunted] = {
        name: hunt(known, trace, {**mode, "max_states": 500}, budget=60) for name, mode in ways.items()
    }
    assert {name for name, hunted in found.items() if hunted.found} == {"all", "representative"}, found
