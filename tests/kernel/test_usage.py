"""What the rig says where it cannot run, or is called wrongly: one line, and nothing is left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def rig(*options: str, path: str = "/usr/sbin:/usr/bin") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.kernel", *options]
    return subprocess.run(command, cwd=ROOT, env={"PATH": path}, capture_output=True, text=True, timeout=60)


def test_what_is_missing_is_said_in_one_line() -> None:
    """As root it is mkfs that is missing here; otherwise root, /dev/fuse or a loop device."""
    ended = rig("--rows", "xfs", "--workloads", "1", path="/nowhere")
    assert ended.returncode == 3
    assert ended.stderr.startswith("test-kernel: ")
    assert ended.stderr.endswith("Nothing was recorded; make test replays the ledger without it.\n")
    assert ended.stderr.count("\n") == 1 and not ended.stdout


@pytest.mark.parametrize(("options", "word"), [(["--rows", "zfs"], "'zfs'"), (["--questions", "why"], "'why'")])
def test_unknown_names_are_refused(options: list[str], word: str) -> None:
    ended = rig(*options)
    assert ended.returncode == 2
    assert f"there is no {word}; there are " in ended.stderr
