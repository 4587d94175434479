"""PMDK's maps, with the pool made in the recorded run: the trace analysis finds no bug, and does look at them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

import pmdk_programs as programs
from harness import POWERCUT
from pmdk_programs import MAPS, PMDK

from powercut.lint.libraries import StackRoles
from powercut.lint.memory_pass import walk
from powercut.model.memory import AUTO
from powercut.native_programs import why_no_memory_tool
from powercut.trace.layout import TableKind
from powercut.trace.reader import Trace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not programs.available(), reason="libpmemobj-dev is not installed"),
    pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing"),
]
# create_buckets clears the buckets and persists them, and then persists the word before them: on the same line.
WASTE = {"hashmap_atomic": {("redundant-flush", "create_buckets")}}
KEYS = 60  # enough for splits, merges and a rebuilt table


def record(kind: str, built_pmdk: Path, folder: Path) -> Path:
    commands, data, trace = folder / "commands", folder / "data", folder / "trace"
    data.mkdir()
    steps = [
        f"{what} {key * 7 % 101}\n" for what, keys in (("i", range(KEYS)), ("r", range(0, KEYS, 2))) for key in keys
    ]
    commands.write_text("".join(steps))
    workload = ["sh", PMDK / "mapcli.sh", built_pmdk / "mapcli", kind, data / "pool", commands]
    command = [POWERCUT, "record", "--tracer", "memory", "-o", trace, "--dir", data, "--", *workload]
    subprocess.run(list(map(str, command)), cwd=folder, check=True, capture_output=True, timeout=120)
    return trace


@pytest.mark.parametrize("kind", MAPS)
def test_maps_have_no_bug(kind: str, built_pmdk: Path, tmp_path: Path) -> None:
    trace = record(kind, built_pmdk, tmp_path)
    done = subprocess.run(
        [POWERCUT, "lint", "--no-warnings", "--json", "-", trace], capture_output=True, text=True, timeout=60
    )
    report = json.loads(done.stdout)
    found = {(misuse["pattern"], misuse["locations"][0]["function"]) for misuse in report["misuses"]}
    assert found <= WASTE.get(kind, set()), done.stderr
    assert report["records"] > 1000


def test_it_is_the_library_that_is_left_out(built_pmdk: Path, tmp_path: Path) -> None:
    """Otherwise the test above passes by seeing nothing."""
    trace = Trace.open(record("btree", built_pmdk, tmp_path), opened=False)
    assert sum(StackRoles(trace).internal()) > 50
    everything = bytes(len(trace.table(TableKind.STACK)) + 1)
    assert len(walk(trace, AUTO, everything).sites) > 20
