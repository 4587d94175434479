"""Every case of corpus/memory: the buggy twin gives its finding with the right lines, the fixed twin is silent.

And LMDB with WRITEMAP: it keeps its promises with syncs, and is caught without them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import CORPUS, POWERCUT, Run, lmdb_check, marked, powercut_test
from memory_cases import MemoryCase, memory_cases

from powercut.native_programs import why_no_memory_tool
from tests.needs import HAS_PMDK

MARKERS = {"lost": "LOST", "survived": "SURVIVED", "acknowledged": "ACKED"}

every_case = pytest.mark.parametrize("case", memory_cases(), ids=lambda case: case.name)
every_twin = pytest.mark.parametrize("twin", ["buggy", "fixed"])
needs_tracer = pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")


@pytest.fixture(autouse=True)
def libraries(request: pytest.FixtureRequest) -> None:
    """Skip what needs a library that is not there."""
    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    if case is not None and case.libraries and not HAS_PMDK:
        pytest.skip("libpmemobj-dev is not installed")


BUDGET = ("--budget", "12s")  # of those that are not exhausted sooner, findings come in the first seconds
OF_LIBRARIES = ("--budget", "4m", "--max-states", "300")  # theirs are never exhausted: as many on a busy machine


def explore(case: MemoryCase, twin: str, fs: tuple[str, ...], folder: Path, *options: str) -> Run:
    built = case.build(twin, folder)
    budget = OF_LIBRARIES if case.libraries else BUDGET
    return powercut_test(built.workload, built.check, built.data, fs=fs, options=[*budget, *options])


@every_twin
@every_case
def test_without_a_power_cut_both_twins_are_right(case: MemoryCase, twin: str, tmp_path: Path) -> None:
    built, acked = case.build(twin, tmp_path), tmp_path / "acked"
    acked.touch()
    assert built.judge(acked) == 0
    built.run(acked)
    assert built.judge(acked) == 0
    acked.write_text("")  # nobody was told: that does not make it worse
    assert built.judge(acked) == 0


@every_case
def test_check_can_fail(case: MemoryCase, tmp_path: Path) -> None:
    """Files of zeros are what nothing was done, and not what was said."""
    built, acked = case.build("fixed", tmp_path), tmp_path / "acked"
    built.run(acked)
    if not acked.read_text():
        pytest.skip("the workload says nothing")
    for file in built.data.iterdir():
        file.write_bytes(bytes(file.stat().st_size))
    assert built.judge(acked) == 1


def test_recovery_of_a_damaged_log_header(tmp_path: Path) -> None:
    (case,) = [case for case in memory_cases() if case.name == "log-header"]
    for twin, wanted in (("buggy", -11), ("fixed", 0)):
        (tmp_path / twin).mkdir()
        built, acked = case.build(twin, tmp_path / twin), tmp_path / twin / "acked"
        built.run(acked)
        log = bytearray((built.data / "log").read_bytes())
        log[8] += 1  # the generation
        (built.data / "log").write_bytes(log)
        assert built.judge(acked) == wanted


@needs_tracer
@every_case
def test_buggy_twin_gives_its_finding(case: MemoryCase, tmp_path: Path) -> None:
    run = explore(case, "buggy", case.fs, tmp_path)
    assert run.code == 1, run.output
    source = case.source("buggy")
    for finding in run.findings:
        assert finding.kind in case.kinds, run.output
        for role in ("lost", "acknowledged" if finding.kind == "durability" else "survived"):
            named = finding.at(role, source.name)
            assert named, f"no {role} line in {finding}"
            assert named <= marked(source, MARKERS[role]), f"wrong {role} line in {finding}"
    models = {model.partition("+")[0] for finding in run.findings for model in finding.models}
    assert models == set(case.fs), run.output
    for finding in run.findings:
        command = shlex.split(finding.replay)
        done = subprocess.run([POWERCUT, *command[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1, done.stdout + done.stderr


@needs_tracer
@every_case
def test_fixed_twin_is_silent(case: MemoryCase, tmp_path: Path) -> None:
    run = explore(case, "fixed", case.silent, tmp_path)
    assert (run.code, run.findings) == (0, ()), run.output


@needs_tracer
@pytest.mark.parametrize("case", [case for case in memory_cases() if "px86" in case.memory], ids=lambda case: case.name)
def test_caches_that_survive_forgive_missing_flushes_and_nothing_else(case: MemoryCase, tmp_path: Path) -> None:
    assert ("eadr" in case.memory) != ("eadr" in case.safe)
    run = explore(case, "buggy", case.fs[:1], tmp_path, "--memory", "eadr")
    assert run.code == ("eadr" in case.memory), run.output


IN_PROGRAM_ORDER = {
    *("counter-and-data", "directory-doubling", "list-length", "log-header", "root-split", "segment-split"),
    *("tokens-update", "tx-add-missing", "tx-write-after-free"),
}


@needs_tracer
@pytest.mark.parametrize(
    "case", [case for case in memory_cases() if case.name in IN_PROGRAM_ORDER], ids=lambda case: case.name
)
def test_kills_at_failure_points_alone_show_what_program_order_shows(case: MemoryCase, tmp_path: Path) -> None:
    run = explore(case, "buggy", case.fs[:1], tmp_path, "--strategies", "failure-points,store-points")
    assert run.code == 1, run.output
    assert {finding.kind for finding in run.findings} <= {"atomicity", "recovery"}, run.output


@needs_tracer
def test_ids_are_the_same_in_every_run(tmp_path: Path) -> None:
    """Address randomisation is on: the program, its libraries and the pool are somewhere else each time."""
    (case,) = [case for case in memory_cases() if case.name == "tokens-update"]
    found = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        run = explore(case, "buggy", case.fs[:1], tmp_path / str(number), "--max-states", "200")
        found.append([finding.id for finding in run.findings])
    assert found[0] == found[1] != []


def explore_lmdb(folder: Path, mode: str, states: int) -> Run:
    pytest.importorskip("lmdb")
    data = folder / "data"
    data.mkdir()
    workload = [sys.executable, str(CORPUS / "real" / "lmdb_rows.py"), str(data), mode]
    subprocess.run([*workload, "0"], check=True)  # the environment exists before the recorded run starts
    check = lmdb_check()
    return powercut_test(workload, check, data, options=["--budget", "4m", "--max-states", str(states)])


@needs_tracer
@pytest.mark.slow
def test_lmdb_with_writemap_keeps_committed_keys(tmp_path: Path) -> None:
    """Silent, but for one thing that optimising compilers do to LMDB 0.9 on x86.

    They store the transaction number of a meta page (byte 144) before its last fields (bytes 120 to 136): nothing in
    the source keeps the order there (ITS#7969 has a barrier for other processors only). Without optimisation it is
    silent.
    """
    run = explore_lmdb(tmp_path, "writemap", 250)
    for finding in run.findings:
        assert finding.kind == "atomicity", run.output
        assert "bytes 144 to 152 of data.mdb" in finding.message, run.output
        assert re.search("bytes (120 to 128|128 to 136) of data.mdb", finding.message), run.output


@needs_tracer
@pytest.mark.slow
def test_lmdb_with_writemap_and_without_syncs_is_reported(tmp_path: Path) -> None:
    run = explore_lmdb(tmp_path, "writemap-nosync", 20)
    assert run.code == 1, run.output
    assert "committed and lost" in run.output
    assert {finding.kind for finding in run.findings} & {"durability", "unpersisted"}, run.output
