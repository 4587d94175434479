"""`powercut syncs` tells the truth: a program fails without what it calls needed, and not without what is redundant.

The syncs are really taken away: in the store by its own switch, in SQLite by an interposed library. Then the program is
recorded again, and `powercut test` knows nothing of what was said about it before.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus" / "store"))

from harness import CORPUS, POWERCUT, TIMEOUT, powercut_test
from memory_cases import memory_cases
from store_cases import SOURCE, SYNCS, Store

from powercut.findings.places import Places
from powercut.model.filesystem import FILE_SYSTEMS
from powercut.native_programs import why_no_memory_tool
from powercut.states.timeline import Timeline
from powercut.syncs.sites import find_sites
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("syncs")]  # each program is weighed once for all

MODEL = "ext4-ordered"
STORE_BUDGET = ("--budget", "15s", "--max-states", "300")
SQLITE_BUDGET = ("--budget", "15s", "--max-states", "80", "--tracer", "calls")
ROWS = "2"


def weigh(check: str, data: Path, *options: str) -> dict[str, Any]:
    """Run `powercut syncs` and read its report."""
    report = data.parent / "syncs.json"
    model = [] if "--fs" in options else ["--fs", MODEL]
    command = [POWERCUT, "syncs", "--check", check, "--json", report, *model, *options]
    done = subprocess.run(command, cwd=data.parent, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(report.read_text())


def table(report: dict[str, Any], need: str) -> list[dict[str, Any]]:
    return [sync for sync in report["syncs"] if sync["need"] == need]


# Mapped memory: the buggy twin of each case is the fixed one with a flush, fence or msync taken away


@pytest.mark.skipif(bool(why_no_memory_tool()), reason=why_no_memory_tool() or "nothing is missing")
@pytest.mark.parametrize(
    ("name", "calls", "text"),
    [("missing-flush", {"clwb"}, "persist(&pool->node"), ("missing-fence", {"sfence"}, "fence();")],
)
def test_what_the_fixed_twin_has_more_is_needed(name: str, calls: set[str], text: str, tmp_path: Path) -> None:
    (case,) = [case for case in memory_cases() if case.name == name]
    built, source = case.build("fixed", tmp_path), case.source("fixed")
    report = weigh(built.check, built.data, "--dir", str(built.data), "--budget", "10s", "--", *built.workload)
    (line,) = [
        number for number, line in enumerate(source.read_text().splitlines(), 1) if line.strip().startswith(text)
    ]
    there = [s for s in table(report, "needed") if s["caller"] and (s["caller"]["line"] == line)]
    assert calls <= {sync["call"] for sync in there}
    assert case.kinds & {sync["models"][0]["prevents"]["kind"] for sync in there}
    assert {model["model"] for sync in report["syncs"] for model in sync["models"]} == {"ext4-ordered+px86"}


# The store


@dataclass(frozen=True)
class Recorded:
    """The store's small workload, recorded once."""

    store: Store
    folder: Path

    def weigh(self, fs: str) -> dict[str, Any]:
        trace = ("--trace", str(self.folder / "store.trace"))
        return weigh(self.store.check, self.folder / "data", *trace, "--fs", fs, "--budget", "8s")


@pytest.fixture(scope="module")
def recorded(built_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("store")
    store, data = Store(built_store), folder / "data"
    data.mkdir()
    record = [POWERCUT, "record", "-o", folder / "store.trace", "--dir", data, "--"]
    subprocess.run([*record, *store.workload(data, "small")], check=True, capture_output=True)
    return Recorded(store, folder)


@pytest.fixture(scope="module")
def store_report(recorded: Recorded) -> dict[str, Any]:
    return recorded.weigh(MODEL)


def store_sync(sync: dict[str, Any]) -> str:
    """The name that the source gives to a sync."""
    lines = Path(sync["location"]["file"]).read_text().splitlines()
    (name,) = re.findall(r'SYNC_\w+\([^"]*"([a-z-]+)"\)', lines[sync["location"]["line"] - 1])
    return name


@pytest.mark.parametrize("fs", [MODEL, "posix"])
def test_the_store_needs_what_its_cases_say(recorded: Recorded, store_report: dict[str, Any], fs: str) -> None:
    report = store_report if fs == MODEL else recorded.weigh(fs)
    executed = {store_sync(sync) for sync in report["syncs"]}
    assert executed == set(SYNCS) - {"recover-manifest", "recover-log"}  # it starts with an empty folder
    assert {store_sync(sync) for sync in table(report, "needed")} == {name for name in executed if fs in SYNCS[name]}
    assert {store_sync(sync) for sync in table(report, "not covered")} == {"close-log", "close-folder"}
    assert report["broken"] == 0


def test_each_sync_of_the_store_is_one_row_with_its_line(recorded: Recorded, store_report: dict[str, Any]) -> None:
    counts = subprocess.run(
        [*recorded.store.workload(recorded.folder / "again", "small"), "--count-syncs"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    expected = {name: int(count) for count, name in map(str.split, counts.splitlines()) if int(count)}
    assert {store_sync(sync): sync["executions"] for sync in store_report["syncs"]} == expected
    assert all(Path(sync["location"]["file"]).parent == SOURCE for sync in store_report["syncs"])


def without(recorded: Recorded, sync: str, folder: Path):
    """`powercut test` on a store that really lacks a sync."""
    store, data = Store(recorded.store.program, skipped=(sync,)), folder / "data"
    data.mkdir()
    return powercut_test(store.workload(data, "small"), store.check, data, fs=[MODEL], options=STORE_BUDGET)


NEEDED = ("commit-log", "rotate-log-before-jumbo", "flush-table", "manifest-edit", "current-content")
REDUNDANT = ("log-name", "flush-table-name", "compact-names", "manifest-new-name", "current-name")


@pytest.mark.parametrize("name", NEEDED)
def test_the_store_fails_without_a_needed_sync(
    recorded: Recorded, store_report: dict[str, Any], name: str, tmp_path: Path
) -> None:
    (sync,) = [sync for sync in table(store_report, "needed") if store_sync(sync) == name]
    prevented = sync["models"][0]["prevents"]
    run = without(recorded, name, tmp_path)
    assert run.code == 1, run.output
    assert prevented["id"] in {finding.id for finding in run.findings}, run.output


@pytest.mark.parametrize("name", REDUNDANT)
def test_the_store_is_silent_without_a_redundant_sync(
    recorded: Recorded, store_report: dict[str, Any], name: str, tmp_path: Path
) -> None:
    assert name in {store_sync(sync) for sync in table(store_report, "redundant")}
    run = without(recorded, name, tmp_path)
    assert (run.code, run.findings) == (0, ()), run.output


# SQLite


@dataclass(frozen=True)
class Sqlite:
    """SQLite in one journal mode: its workload, what was said of its syncs, and how to drop them."""

    data: Path
    workload: list[str]
    library: Path
    check: str
    report: dict[str, Any]
    trace: Path

    def executions(self, sync: dict[str, Any]) -> list[str]:
        """The executions of a sync as DROP_SYNCS names them: the how manyth of its file's each one is."""
        timeline = Timeline(Trace.open(self.trace), FILE_SYSTEMS[MODEL])
        sites = find_sites(timeline, Places(timeline.trace))
        (site,) = [site for site in sites if int(site.events[0]) == sync["first_event"]]
        numbers, seen = {}, Counter[str]()
        for event in timeline.trace.of_kind(Kind.FSYNC, Kind.FDATASYNC).tolist():
            name = timeline.index.path_of(timeline.subjects[event]).decode() or self.data.name
            seen[name] += 1
            numbers[event] = f"{name}:{seen[name]}"
        return [numbers[event] for event in site.events.tolist()]

    def without(self, sync: dict[str, Any]):
        """`powercut test` on an SQLite that really lacks a sync."""
        workload = self.dropping(self.executions(sync))
        return powercut_test(workload, self.check, self.data, fs=[MODEL], options=SQLITE_BUDGET)

    def dropping(self, executions: list[str]) -> list[str]:
        """The workload without some executions of syncs."""
        return ["env", f"LD_PRELOAD={self.library}", f"DROP_SYNCS=,{','.join(executions)},", *self.workload]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "drop_syncs.so"
    source = Path(__file__).with_name("drop_syncs.c")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True)
    return path


@pytest.fixture(scope="module")
def sqlite(
    library: Path, sqlite_check: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Sqlite]:
    """SQLite in a journal mode, weighed once for all tests."""
    check = shlex.join(sqlite_check)

    @cache
    def weighed(*mode: str) -> Sqlite:
        folder = tmp_path_factory.mktemp("sqlite")
        data = folder / "rows"
        data.mkdir()
        workload = [sys.executable, str(CORPUS / "real" / "sqlite_rows.py"), str(data), *mode]
        subprocess.run([*workload, "0"], check=True)  # the database exists before the recorded run starts
        workload.append(ROWS)
        report = weigh(check, data, "--dir", str(data), "--budget", "12s", "--", *workload)
        return Sqlite(data, workload, library, check, report, folder / ".powercut" / "runs" / "0001" / "trace")

    return weighed


@pytest.mark.parametrize(("mode", "number"), [(("DELETE", "EXTRA"), 3), (("WAL", "FULL"), 2)], ids=str)
def test_sqlite_fails_without_each_needed_sync(
    sqlite: Callable[[str, str], Sqlite], mode: tuple[str, str], number: int
) -> None:
    program = sqlite(*mode)
    needed = table(program.report, "needed")
    assert len(needed) >= number
    for sync in needed:
        run = program.without(sync)
        assert run.code == 1, (sync, run.output)
        assert sync["models"][0]["prevents"]["kind"] in {finding.kind for finding in run.findings}, run.output


@pytest.mark.parametrize(
    ("mode", "number"),
    [(("DELETE", "EXTRA"), 1), (("TRUNCATE", "EXTRA"), 1), (("WAL", "FULL"), 2), (("WAL", "EXTRA"), 2)],
    ids=str,
)
def test_sqlite_is_silent_without_each_redundant_sync(
    sqlite: Callable[[str, str], Sqlite], mode: tuple[str, str], number: int
) -> None:
    program = sqlite(*mode)
    redundant = table(program.report, "redundant")
    assert len(redundant) >= number
    for sync in redundant:
        run = program.without(sync)
        assert (run.code, run.findings) == (0, ()), (sync, run.output)


def test_the_interposed_library_drops_a_sync_and_no_other(sqlite: Callable[[str, str], Sqlite], tmp_path: Path) -> None:
    """Otherwise silence would prove nothing."""
    program = sqlite("DELETE", "EXTRA")
    dropped = program.executions(table(program.report, "redundant")[0])
    trace = tmp_path / "trace"
    record = [POWERCUT, "record", "-o", trace, "--dir", program.data, "--"]
    subprocess.run([*record, *program.dropping(dropped)], check=True, capture_output=True)
    before, after = (len(Trace.open(path).of_kind(Kind.FSYNC, Kind.FDATASYNC)) for path in (program.trace, trace))
    assert after == before - len(dropped)
