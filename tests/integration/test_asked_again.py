"""A check that dies or hangs once, and not when asked again, is no finding; what it did is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SAVE = "printf new > data/f.tmp && sync data/f.tmp && mv data/f.tmp data/f && sync data"
DIES_ONCE = "[ -e {mark} ] && exit 0; {first} touch {mark}; {way}"


@pytest.mark.parametrize("way", ["kill -SEGV $$", "sleep 100"])
def test_a_check_that_died_once_is_asked_again(tmp_path: Path, way: str) -> None:
    (tmp_path / "data").mkdir()
    mark, ready = tmp_path / "mark", tmp_path / "ready"
    # The state without a crash is judged first, and must pass.
    script = DIES_ONCE.format(mark=mark, way=way, first=f"[ -e {ready} ] || {{ touch {ready}; exit 0; }};")
    (tmp_path / "check").write_text(script)
    command = [sys.executable, "-m", "powercut", "test", "--workers", "1", "--timeout", "2", "--dir", "data"]
    command += ["--check", "sh check", "--", "sh", "-c", SAVE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, mark.exists()) == (0, True), done
    assert "on an image, and passed when run again" in done.stderr
