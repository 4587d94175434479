"""The key-value store of corpus/store: silent when it is correct, and each of its seeded mistakes is found."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus" / "store"))

from harness import Run, powercut_test
from store_cases import MODELS, SOURCE, SYNCS, WORKLOADS, Store, StoreBug, store_bugs


def states(number: int) -> tuple[str, ...]:
    """A number and no time, so that a busy machine looks as hard."""
    return ("--budget", "4m", "--max-states", str(number))


FOUND_BY, SILENT_FOR = states(250), states(450)

every_bug = pytest.mark.parametrize("bug", store_bugs(), ids=lambda bug: bug.name)


def explore(store: Store, folder: Path, workload: str, fs: tuple[str, ...], *options: str) -> Run:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    return powercut_test(store.workload(data, workload), store.check, data, fs=fs, options=options)


def names(built_store: Path, what: str) -> list[str]:
    return subprocess.run([built_store, what], check=True, capture_output=True, text=True).stdout.split()


def test_cases_list_all_mistakes_and_syncs(built_store: Path) -> None:
    assert [bug.name for bug in store_bugs()] == names(built_store, "bugs")
    assert list(SYNCS) == names(built_store, "syncs")
    for bug in store_bugs():
        assert {*bug.fs, *bug.safe} == set(MODELS), bug.name
        assert bug.workload in WORKLOADS
        assert bug.deep is None or bug.deep in WORKLOADS


def test_every_sync_goes_through_a_named_line() -> None:
    """A sync has one line in the source; CURRENT in place, which is a mistake, stands in for the one of CURRENT.tmp."""
    sources = {path.name: path.read_text() for path in SOURCE.glob("*.c")}
    named = Counter(re.findall(r'SYNC_\w+\([^"]*"([a-z-]+)"\)', "\n".join(sources.values())))
    assert named == {**dict.fromkeys(SYNCS, 1), "current-content": 2}
    assert not [name for name, text in sources.items() if re.search(r"\b(fsync|fdatasync|sync|syncfs)\(", text)]


@pytest.mark.parametrize("bug", [None, *(bug.name for bug in store_bugs())])
def test_without_a_power_cut_every_mistake_is_invisible(built_store: Path, bug: str | None, tmp_path: Path) -> None:
    data, acked = tmp_path / "data", tmp_path / "acked"
    store = Store(built_store, bug)
    with acked.open("w") as said:
        subprocess.run(store.workload(data, "small"), stdout=said, check=True)
    done = store.judge(data, acked)
    assert done.returncode == 0, done.stderr
    assert "100 changes, 100 of them acknowledged" in done.stdout


def test_the_check_sees_what_is_missing(built_store: Path, tmp_path: Path) -> None:
    data, acked = tmp_path / "data", tmp_path / "acked"
    store = Store(built_store)
    with acked.open("w") as said:
        subprocess.run(store.workload(data, "small", "--stop-after", "60"), stdout=said, check=True)
    table = next(data.glob("*.tbl"))
    whole, said = table.read_bytes(), acked.read_text()
    table.write_bytes(whole.replace(b"change", b"CHANGE", 1))
    done = store.judge(data, acked)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is damaged" in done.stderr
    table.write_bytes(whole)
    acked.write_text(said + "durable 90\n")
    assert "change 90 was acknowledged, but the store ends at 60" in store.judge(data, acked).stderr
    acked.write_text(said.replace("seed=2", "seed=7", 1))
    assert store.judge(data, acked).returncode == 1  # another workload's content
    acked.write_text(said)
    assert store.judge(data, acked).returncode == 0


def test_a_killed_run_goes_on(built_store: Path, tmp_path: Path) -> None:
    data, acked = tmp_path / "data", tmp_path / "acked"
    store = Store(built_store)
    for stop in ("37", "61", "0"):
        with acked.open("w") as said:
            subprocess.run(store.workload(data, "small", "--stop-after", stop), stdout=said, check=True)
    assert "100 changes, 100 of them acknowledged" in store.judge(data, acked).stdout


def test_the_deep_workload_takes_the_rare_path_once(built_store: Path, tmp_path: Path) -> None:
    memory = Path("/dev/shm")  # thousands of syncs
    data = memory / f"powercut-{tmp_path.name}" if memory.is_dir() else tmp_path / "data"
    try:
        run = Store(built_store).workload(data, "deep", "--count-syncs")
        done = subprocess.run(run, check=True, capture_output=True, text=True)
    finally:
        for file in data.glob("*"):
            file.unlink()
        data.rmdir()
    counts = {name: int(count) for count, name in map(str.split, done.stderr.splitlines())}
    assert list(counts) == list(SYNCS)
    assert (counts["rotate-log-before-jumbo"], counts["rotate-log-after-jumbo"]) == (1, 1)
    assert counts["compact-full-output"] > 50
    assert counts["manifest-new"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("fs", MODELS)
def test_the_store_is_correct(built_store: Path, fs: str, tmp_path: Path) -> None:
    run = explore(Store(built_store), tmp_path, "small", (fs,), *states(800))
    assert (run.code, run.findings) == (0, ()), run.output
    assert run.report["states"]["tested"] >= 800 or run.report["states"]["exhausted"], run.output


@pytest.mark.slow
def test_the_store_is_correct_with_many_jumbo_batches(built_store: Path, tmp_path: Path) -> None:
    run = explore(Store(built_store), tmp_path, "jumbos", ("ext4-ordered", "btrfs"), *states(400))
    assert (run.code, run.findings) == (0, ()), run.output


@pytest.mark.slow
def test_recovery_survives_a_power_cut(built_store: Path, tmp_path: Path) -> None:
    """The run starts with what a crash has left: logs to replay, torn ends, a table that nobody names."""
    data, store = tmp_path / "data", Store(built_store)
    subprocess.run(store.workload(data, "small", "--stop-after", "60"), stdout=subprocess.DEVNULL, check=True)
    for torn in (max(data.glob("*.log")), next(data.glob("MANIFEST-*"))):
        with torn.open("ab") as file:
            file.write(bytes(20) + b"torn")
    (data / "000099.tbl").write_bytes(b"not finished")
    run = explore(store, tmp_path, "small", MODELS, *states(400))
    assert (run.code, run.findings) == (0, ()), run.output
    assert not (data / "000100.log").exists()  # it ran on a copy


@pytest.mark.slow
def test_sectors_may_tear(built_store: Path, tmp_path: Path) -> None:
    run = explore(Store(built_store), tmp_path, "blocks", ("ext4-ordered",), "--tear", *states(300))
    assert (run.code, run.findings) == (0, ()), run.output


@pytest.mark.slow
@every_bug
def test_mistake_is_found(built_store: Path, bug: StoreBug, tmp_path: Path) -> None:
    run = explore(Store(built_store, bug.name), tmp_path, bug.workload, bug.fs[:1], *FOUND_BY)
    if run.code == 0:  # how many states equivalence spares depends on which answers come first: some need 210 or 260
        run = explore(Store(built_store, bug.name), tmp_path, bug.workload, bug.fs[:1], *SILENT_FOR)
    assert run.code == 1, run.output
    kinds = {finding.kind for finding in run.findings}
    assert bug.kinds[0] in kinds, run.output
    assert kinds <= set(bug.kinds), run.output


@pytest.mark.slow
@pytest.mark.parametrize("bug", [bug for bug in store_bugs() if bug.safe], ids=lambda bug: bug.name)
def test_mistake_is_not_reported_where_it_is_forgiven(built_store: Path, bug: StoreBug, tmp_path: Path) -> None:
    run = explore(Store(built_store, bug.name), tmp_path, bug.workload, bug.safe, *SILENT_FOR)
    assert (run.code, run.findings) == (0, ()), run.output


def test_a_sync_is_left_out_by_name(built_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_SKIP_SYNC", "commit-log")
    run = explore(Store(built_store), tmp_path, "small", ("ext4-ordered",), "--max-states", "200")
    assert {finding.kind for finding in run.findings} == {"durability"}, run.output
    done = subprocess.run([built_store, "syncs", "--skip-sync", "nothing"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "store: there is no sync 'nothing'; try: store syncs\n")
