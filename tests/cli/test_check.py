"""`powercut check` and `powercut config`: exit codes, saved runs, the baseline, JSON, and users in a hurry."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.assertion_kit import PROGRAMS, build

POWERCUT = [sys.executable, "-m", "powercut"]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder, with a name that is no easy one, that holds all programs."""
    folder = tmp_path_factory.mktemp("pro grämme")
    for name in ("figures", "checkers", "endings"):
        build(PROGRAMS / f"{name}.c", folder, "-pthread")
    return folder


def powercut(cwd: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*POWERCUT, *map(str, words)]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in ended.stderr
    return ended


def test_failure_is_shown_saved_and_ends_with_1(programs: Path, tmp_path: Path) -> None:
    ended = powercut(tmp_path, "check", "--", programs / "figures", "figure_7")
    assert ended.returncode == 1
    assert "FAIL: not persistent (not-flushed)" in ended.stdout
    assert "isPersist(memory + 0x50, 64);" in ended.stdout  # the line itself
    assert "Saved in .powercut/runs/0001" in ended.stdout
    again = powercut(tmp_path, "show")
    assert again.stdout == ended.stdout
    name = ended.stdout.split()[0]
    assert "not-persistent" in powercut(tmp_path, "show", name).stdout


def test_nothing_found_ends_with_0_and_so_do_warnings(programs: Path, tmp_path: Path) -> None:
    clean = powercut(tmp_path, "check", "--", programs / "figures", "figure_3a")
    assert (clean.returncode, clean.stdout.splitlines()[-1].partition(".")[0]) == (0, "No findings")
    warned = powercut(tmp_path, "check", "--", programs / "figures", "figure_13c")
    assert (warned.returncode, "WARN: duplicate log" in warned.stdout) == (0, True)


def test_report_is_shown_even_where_it_cannot_be_saved(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = powercut(tmp_path, "check", "--output", "file/x", "--", programs / "figures", "figure_7")
    assert (ended.returncode, "[output-unwritable]" in ended.stderr) == (3, True)
    assert "FAIL: not persistent (not-flushed)" in ended.stdout


def test_baseline_makes_a_known_failure_pass(programs: Path, tmp_path: Path) -> None:
    words = ("check", "--", programs / "figures", "figure_7")
    assert powercut(tmp_path, "check", "--write-baseline", *words[1:]).returncode == 0
    ended = powercut(tmp_path, *words)
    assert (ended.returncode, "In the baseline:" in ended.stdout) == (0, True)


def test_json_report(programs: Path, tmp_path: Path) -> None:
    ended = powercut(tmp_path, "check", "--json", "-", "--model", "hops", "--", programs / "figures", "figure_7")
    report = json.loads(ended.stdout)
    assert (report["model"], report["threads"], report["ending"]) == ("hops", 1, "")
    (finding,) = report["findings"]
    assert (finding["pattern"], finding["why"], finding["count"]) == ("not-persistent", "not-fenced", 1)
    assert [place["role"] for place in finding["locations"]] == ["at", "written"]


def test_failing_program_ends_with_3_unless_an_assertion_fails(programs: Path, tmp_path: Path) -> None:
    failed = powercut(tmp_path, "check", "--", programs / "checkers", "no-such-scenario")
    assert (failed.returncode, "[nothing-tracked]" in failed.stderr) == (3, True)
    crashed = powercut(tmp_path, "check", "--", programs / "endings", "crash")
    assert crashed.returncode == 1
    assert "was killed by signal 11" in crashed.stdout


def test_program_that_hangs_is_ended_and_what_it_did_is_checked(programs: Path, tmp_path: Path) -> None:
    ended = powercut(tmp_path, "check", "--timeout", "1", "--", programs / "endings", "hang")
    assert ended.returncode == 1
    assert "The program was ended (hung)" in ended.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_check_tells_what_was_found(programs: Path, tmp_path: Path, number: signal.Signals) -> None:
    command = [*POWERCUT, "check", "--", str(programs / "endings"), "forever"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in err) == (1, False)
    assert "was ended (interrupted)" in out


def test_saved_trace_is_checked_again_by_check_and_by_explore(programs: Path, tmp_path: Path) -> None:
    assert powercut(tmp_path, "check", "--save", "t.pct", "--", programs / "figures", "figure_3b").returncode == 1
    assert powercut(tmp_path, "check", "--recheck", "t.pct", "--model", "hops").returncode == 0
    assert powercut(tmp_path, "explore", "t.pct", "--memory", "hops").returncode == 0
    assert powercut(tmp_path, "explore", "t.pct", "--memory", "px86").returncode == 1
    exists = powercut(tmp_path, "check", "--save", "t.pct", "--", programs / "figures", "figure_3b")
    assert (exists.returncode, "[trace-exists]" in exists.stderr) == (2, True)


@pytest.mark.parametrize(
    "damage", [b"", b"PCUTTRC1", b"PCUTTRC1" + b"\xff" * 40, b"PCUTTRC1" + bytes(12) + b"\x01" * 9]
)
def test_damaged_trace_is_refused(damage: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.pct").write_bytes(damage)
    ended = powercut(tmp_path, "check", "--recheck", "t.pct")
    assert (ended.returncode, "[bad-check-trace]" in ended.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        ([], "check-what", 2),
        (["--recheck", "x", "--", "true"], "check-what", 2),
        (["--recheck", "missing"], "bad-check-trace", 2),
        (["--", "true"], "nothing-tracked", 3),
        (["--", "./missing"], "no-such-program", 3),
        (["--", "."], "no-such-program", 3),
        (["--model", "z80", "--", "true"], "unknown-check-model", 2),
        (["--workers", "0", "--", "true"], "bad-workers", 2),
        (["--buffer", "-1", "--", "true"], "bad-buffer", 2),
        (["--save", "no/such/folder", "--", "true"], "output-unwritable", 3),
    ],
)
def test_wrong_usage_is_one_line_with_a_code(tmp_path: Path, words: list[str], code: str, exit_code: int) -> None:
    ended = powercut(tmp_path, "check", *words)
    assert (ended.returncode, ended.stderr.count("\n"), f"[{code}]" in ended.stderr) == (exit_code, 1, True)


def test_program_that_cannot_be_executed(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/no/such/interpreter\n")
    (tmp_path / "script").chmod(0o755)
    ended = powercut(tmp_path, "check", "--", "./script")
    assert (ended.returncode, "[cannot-start]" in ended.stderr) == (3, True)


def test_config_prints_flags(tmp_path: Path) -> None:
    flags = powercut(tmp_path, "config", "--cflags", "--libs", "--static").stdout.split()
    assert "-DPOWERCUT" in flags
    assert any(flag.endswith("libpowercut.a") for flag in flags)
    assert powercut(tmp_path, "config").returncode == 2
