"""Representatives alone find the known mistakes, and in long runs with a small part of the states."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import Case, build, cases, check_command, powercut_test

ALONE = ("--strategies", "representatives")

STORE = """
import os, sys
folder, count, careless = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
log = os.open(folder + "/log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
here = os.open(folder, os.O_RDONLY)
os.fsync(here)
values = {}

def put(number):
    values[number % 20] = number
    os.write(log, b"%d=%d;" % (number % 20, number))
    if number != careless:
        os.fsync(log)
    if number % 30 == 29:
        checkpoint()

def checkpoint():
    new = os.open(folder + "/new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    os.write(new, b"".join(b"%d=%d;" % item for item in values.items()))
    os.fsync(new)
    os.close(new)
    os.rename(folder + "/new", folder + "/snapshot")
    os.fsync(here)
    os.ftruncate(log, 0)
    os.fsync(log)

for number in range(count):
    put(number)
    os.write(1, b"%d\\n" % number)
"""

CHECK = """
import os, sys
said = open(os.environ["POWERCUT_ACKED"]).read().split()
values = {}
for name in ("snapshot", "log"):
    if os.path.exists(name):
        for item in open(name).read().split(";")[:-1]:
            key, value = item.split("=")
            values[int(key)] = int(value)
for number in map(int, said):
    assert values.get(number % 20, -1) >= number, f"{number} is lost"
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_mistake_of_each_corpus_case_is_found(case: Case, tmp_path: Path) -> None:
    data = case.seed(tmp_path / "data")
    workload = [*build(case.source("buggy"), tmp_path), str(data)]
    run = powercut_test(workload, check_command(case.check), data, fs=case.fs[:1], options=ALONE)
    assert run.code == 1, run.output
    assert case.kind in {finding.kind for finding in run.findings}, run.output


FEW = 100  # states, of two thousand


def explore_store(folder: Path, careless: int) -> tuple[list[str], int]:
    """Kinds of findings, and how many states were tested."""
    data = folder / "data"
    data.mkdir()
    (folder / "store.py").write_text(STORE)
    (folder / "check.py").write_text(CHECK)
    workload = [sys.executable, str(folder / "store.py"), str(data), "400", str(careless)]
    run = powercut_test(workload, check_command(folder / "check.py"), data, options=ALONE)
    states = run.report["states"]
    assert isinstance(states, dict)
    return [finding.kind for finding in run.findings], states["tested"]


@pytest.mark.slow
def test_one_skipped_sync_in_four_hundred_is_found_with_few_states(tmp_path: Path) -> None:
    kinds, tested = explore_store(tmp_path, 277)
    assert kinds == ["durability"]
    assert tested < FEW


@pytest.mark.slow
def test_a_long_run_without_mistakes_is_silent(tmp_path: Path) -> None:
    kinds, tested = explore_store(tmp_path, -1)
    assert kinds == []
    assert 0 < tested < FEW
