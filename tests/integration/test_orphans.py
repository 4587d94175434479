"""Programs that powercut runs never outlive it, even if it is killed and nobody can tidy up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.assertions.build import checker
from powercut.native_programs import call_tracer

STUBBORN = "trap '' TERM INT HUP; echo $$ > ../pid; while :; do sleep 0.05; done"
SOON = 5.0  # seconds: it takes a few milliseconds, but the machine may be busy
COMMANDS = {
    "record": ["record", "--dir", "data", "-o", "run.trace"],
    "test": ["test", "--dir", "data"],
    "check": ["check"],
}


def wait_for(what: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.01)
    return what()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def started(here: Path, command: list[str]) -> tuple[subprocess.Popen[bytes], int]:
    """A running command, and the program below it."""
    (here / "data").mkdir()
    process = subprocess.Popen(command, cwd=here / "data", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    note = here / "pid"
    assert wait_for(lambda: note.exists() and note.read_text().endswith("\n"), 30.0)
    return process, int(note.read_text())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_ends_when_powercut_is_killed(name: str, tmp_path: Path) -> None:
    words = [word.replace("data", str(tmp_path / "data")) for word in COMMANDS[name]]
    words = [word.replace("run.trace", str(tmp_path / "run.trace")) for word in words]
    process, program = started(tmp_path, [sys.executable, "-m", "powercut", *words, "--", "sh", "-c", STUBBORN])
    assert is_running(program)
    process.kill()
    process.wait()
    assert wait_for(lambda: not is_running(program), SOON)


def test_a_program_ends_when_its_checker_is_killed(tmp_path: Path) -> None:
    own = ["--parent", str(os.getpid())]
    command = [str(checker()), *own, "--out", str(tmp_path / "out"), "--", "/bin/sh", "-c", STUBBORN]
    process, program = started(tmp_path, command)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_for(lambda: not is_running(program), SOON)


@pytest.mark.parametrize("tool", ["tracer", "checker"])
def test_a_tool_whose_parent_has_ended_starts_nothing(tool: str, tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (tmp_path / "data").mkdir()
    words = {
        "tracer": [str(call_tracer()), "--output", str(tmp_path / "trace"), "--dir", str(tmp_path / "data")],
        "checker": [str(checker()), "--out", str(tmp_path / "out")],
    }[tool]
    ended = subprocess.run(
        [*words, "--parent", str(gone.pid), "--", "/bin/sh", "-c", f"touch {tmp_path / 'ran'}"], timeout=30
    )
    assert ended.returncode != 0
    assert sorted(os.listdir(tmp_path)) == ["data"]
