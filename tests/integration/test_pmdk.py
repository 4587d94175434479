"""PMDK's own examples, built from Debian's sources: the crashed pools hold what the acknowledged operations left."""

from __future__ import annotations

import random
import shlex
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

import pmdk_programs as programs
from harness import Run, check_command, powercut_test
from pmdk_programs import MAPS, PMDK, STORES

from powercut.native_programs import memory_tool, why_no_memory_tool
from powercut.record.recorder import RecordOptions, record_command
from powercut.trace.layout import Kind

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not programs.available(), reason="libpmemobj-dev is not installed"),
    pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing"),
]

# Enough keys for a split of btree's nodes (7 keys each), and a removal behind it.
CHANGES = ["i 10", "i 20", "i 5", "r 10", "i 30", "i 40", "i 50", "i 60", "i 70", "r 5", "i 80"]
STEPS = {
    "fifo": ["insert a", "insert b", "remove", "insert c"],
    "queue": ["enqueue one", "enqueue two", "dequeue", "enqueue three", "enqueue four"],
    "btree": ["i 5 five", "i 3 three", "i 8 eight", "i 4 four"],
}
STATES = 80  # of each: a number and no time, so that a busy machine looks as hard


def explore(script: str, arguments: list[str | Path], check: str, data: Path) -> Run:
    workload = ["sh", str(PMDK / script), *map(str, arguments)]
    options = ["--tracer", "memory", "--max-states", str(STATES), "--budget", "4m"]
    run = powercut_test(workload, check, data, options=options)
    assert run.report["states"]["exhausted"] or run.report["states"]["tested"] >= STATES, run.output
    return run


@pytest.mark.parametrize("kind", MAPS)
def test_mapcli(kind: str, built_pmdk: Path, data: Path, tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text("".join(f"{change}\nc {change.split()[1]}\n" for change in CHANGES))
    programs.make_map(built_pmdk, data / "pool", kind)
    check = shlex.join([str(built_pmdk / "map_check"), kind, "pool", str(commands)])
    run = explore("mapcli.sh", [built_pmdk / "mapcli", kind, data / "pool", commands], check, data)
    assert (run.code, run.findings) == (0, ()), run.output


@pytest.mark.parametrize("kind", MAPS)
def test_traced_stores_give_the_final_pool(kind: str, built_pmdk: Path, data: Path, tmp_path: Path) -> None:
    """5,000 inserts and removes: the trace, replayed on the first pool, leaves the last one, byte for byte."""
    keys = list(range(3, 2503))
    random.Random(kind).shuffle(keys)
    commands = tmp_path / "commands"
    commands.write_text("".join(f"{word} {key}\n" for word in "ir" for key in keys))
    programs.make_map(built_pmdk, data / "pool", kind)
    workload = ["sh", str(PMDK / "mapcli.sh"), str(built_pmdk / "mapcli"), kind, str(data / "pool"), str(commands)]
    options = RecordOptions(
        data, tmp_path, tmp_path / "trace", memory_tool=memory_tool(), persistent_memory=True, stacks=False
    )
    recording = record_command(workload, options)
    assert recording.unexplained == []
    stores = recording.trace.of_kind(Kind.STORE)
    assert len(stores) > 20 * len(keys)
    assert len(recording.trace.of_kind(Kind.FENCE)) > len(keys)


@pytest.mark.parametrize("name", STEPS)
def test_program_of_single_steps(name: str, built_pmdk: Path, data: Path, tmp_path: Path) -> None:
    steps = tmp_path / "steps"
    steps.write_text("".join(f"{step}\n" for step in STEPS[name]))
    programs.make_pool(built_pmdk, data / "pool", name)
    check = check_command(PMDK / "steps_check.py", name, str(built_pmdk / name), "pool", str(steps))
    run = explore("steps.sh", [built_pmdk / name, data / "pool", steps], check, data)
    assert (run.code, run.findings) == (0, ()), run.output


@pytest.mark.parametrize("store", STORES)
def test_string_store(store: str, built_pmdk: Path, data: Path) -> None:
    check = check_command(PMDK / "words_check.py", str(built_pmdk / f"{store}_reader"), "pool", "powercut")
    run = explore("words.sh", [built_pmdk / f"{store}_writer", data / "pool", "powercut"], check, data)
    assert (run.code, run.findings) == (0, ()), run.output
