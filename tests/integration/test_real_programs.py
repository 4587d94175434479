"""Real programs: SQLite and LMDB keep their promises in their safe settings and are caught where they make none."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import CORPUS, Run, check_command, lmdb_check, powercut_test

REAL = CORPUS / "real"

pytestmark = pytest.mark.slow

# Numbers of states and no times, so that a busy machine looks as hard.
SILENT = 220  # SQLite has 150 but for pairs and samples
SOON = 60  # where syncs are missing, the first states show it


def explore(workload: list[str], check: str, data: Path, states: int) -> Run:
    run = powercut_test(workload, check, data, options=["--max-states", str(states), "--budget", "4m"])
    assert run.report["states"]["exhausted"] or run.report["states"]["tested"] >= states, run.output
    return run


def explore_sqlite(folder: Path, journal_mode: str, synchronous: str, check: list[str], states: int = SILENT) -> Run:
    data = folder / "data"
    data.mkdir()
    workload = [sys.executable, str(REAL / "sqlite_rows.py"), str(data), journal_mode, synchronous]
    subprocess.run([*workload, "0"], check=True)  # the database exists before the recorded run starts
    return explore(workload, shlex.join(check), data, states)


def test_both_checks_of_sqlite_say_the_same(sqlite_check: list[str], tmp_path: Path) -> None:
    """The one in Python, which is for people to read, and the one in C, which tests run."""
    data, acked = tmp_path / "data", tmp_path / "acked"
    data.mkdir()
    with acked.open("w") as said:
        subprocess.run([sys.executable, REAL / "sqlite_rows.py", data, "DELETE", "OFF"], stdout=said, check=True)
    whole = (data / "rows.db").read_bytes()
    other = whole.replace(b"row 2 ", b"row 7 ", 1)  # of the content
    cut, torn = whole[:-4096], whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2)
    in_python = shlex.split(check_command(REAL / "sqlite_check.py"))
    lost = 'import sqlite3; sqlite3.connect("rows.db", isolation_level=None).execute("DELETE FROM rows WHERE number=2")'
    for content, change, verdicts in (
        (whole, "", (0, 0)),
        (whole, lost, (1, 0)),
        *((damaged, "", (1, 1)) for damaged in (other, cut, torn, b"", b"SQLite format 4")),
    ):
        (data / "rows.db").write_bytes(content)
        subprocess.run([sys.executable, "-c", change], cwd=data, check=True)
        for check in (in_python, sqlite_check):
            assert verdicts == tuple(
                subprocess.run([*check, *how], cwd=data, env={**os.environ, "POWERCUT_ACKED": str(acked)}).returncode
                for how in ([], ["integrity"])
            ), (content[:16], change, check)


@pytest.mark.parametrize(("journal_mode", "synchronous"), [("DELETE", "EXTRA"), ("WAL", "FULL")])
def test_sqlite_keeps_committed_rows(
    journal_mode: str, synchronous: str, sqlite_check: list[str], tmp_path: Path
) -> None:
    run = explore_sqlite(tmp_path, journal_mode, synchronous, sqlite_check)
    assert (run.code, run.findings) == (0, ()), run.output


@pytest.mark.parametrize(("journal_mode", "synchronous"), [("DELETE", "FULL"), ("WAL", "NORMAL")])
def test_sqlite_loses_the_last_rows(
    journal_mode: str, synchronous: str, sqlite_check: list[str], tmp_path: Path
) -> None:
    """FULL does not sync the directory after the journal's deletion; NORMAL does not sync the WAL at a commit."""
    run = explore_sqlite(tmp_path, journal_mode, synchronous, sqlite_check, SOON)
    assert run.code == 1, run.output
    assert {finding.kind for finding in run.findings} == {"durability"}, run.output


@pytest.mark.parametrize(("journal_mode", "synchronous"), [("DELETE", "FULL"), ("WAL", "NORMAL")])
def test_sqlite_is_never_corrupt(journal_mode: str, synchronous: str, sqlite_check: list[str], tmp_path: Path) -> None:
    run = explore_sqlite(tmp_path, journal_mode, synchronous, [*sqlite_check, "integrity"])
    assert (run.code, run.findings) == (0, ()), run.output


@pytest.mark.parametrize("journal_mode", ["DELETE", "WAL"])
def test_sqlite_without_syncs_is_reported(journal_mode: str, sqlite_check: list[str], tmp_path: Path) -> None:
    run = explore_sqlite(tmp_path, journal_mode, "OFF", sqlite_check, SOON)
    assert run.code == 1, run.output
    assert run.findings


def explore_lmdb(folder: Path, sync: str, states: int) -> Run:
    pytest.importorskip("lmdb")
    data = folder / "data"
    data.mkdir()
    workload = [sys.executable, str(REAL / "lmdb_rows.py"), str(data), sync]
    subprocess.run([*workload, "0"], check=True)  # the environment exists before the recorded run starts
    return explore(workload, lmdb_check(), data, states)


def test_lmdb_keeps_committed_keys(tmp_path: Path) -> None:
    run = explore_lmdb(tmp_path, "sync", SILENT)
    assert (run.code, run.findings) == (0, ()), run.output


def test_lmdb_without_syncs_is_reported(tmp_path: Path) -> None:
    run = explore_lmdb(tmp_path, "nosync", 150)
    assert run.code == 1, run.output
    assert "durability" in {finding.kind for finding in run.findings}, run.output


@pytest.mark.parametrize("settings", [[], ["core.fsync=all"]], ids=["default", "fsync-all"])
def test_git_is_explored_to_the_end(settings: list[str], tmp_path: Path) -> None:
    """By default git syncs neither loose objects nor refs: reported. With every sync switched on it may be silent."""
    data = tmp_path / "data"
    data.mkdir()
    workload = [sys.executable, str(REAL / "git_commits.py"), str(data), *settings]
    check = check_command(REAL / "git_check.py")
    run = powercut_test(workload, check, data, options=["--budget", "12s"])
    assert run.code == 1 or (run.code == 0 and settings), run.output
    assert run.report["states"], run.output
