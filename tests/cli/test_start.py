"""A start loads what it needs and no more, and programs see nothing of how powercut was started."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.cli.kit import SAFE, World

THREADS = "OPENBLAS_NUM_THREADS"


@pytest.mark.parametrize("words", [["tset"], ["test", "--nosuch"], ["--help"], ["test", "--help"]], ids=" ".join)
def test_an_error_of_usage_and_help_do_not_wait_for_numpy(words: list[str]) -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "powercut", *words], capture_output=True, text=True
    ).stderr
    assert "powercut.commands.main" in loaded
    assert "numpy" not in loaded


@pytest.mark.parametrize("given", [None, "3"])
def test_programs_and_checks_may_have_as_many_threads_as_before(world: World, given: str | None) -> None:
    world.env.pop(THREADS, None)
    if given is not None:
        world.env[THREADS] = given
    as_given = f'test "${{{THREADS}-none}}" = {given or "none"}'
    (world.here / "check").write_text(f"{as_given} && {(world.here / 'check').read_text()}")
    ended = world.test(workload=f"{as_given} && {SAFE}")
    assert ended.code == 0, ended


def test_the_command_is_called_as_the_user_calls_it() -> None:
    command = Path(sysconfig.get_path("scripts")) / "powercut"
    done = subprocess.run([command, "explore", "--nosuch"], capture_output=True, text=True)
    assert done.stderr.endswith(" See powercut explore --help [usage]\n"), done.stderr


def test_a_command_whose_python_is_gone_says_so(tmp_path: Path) -> None:
    shutil.copy(Path(sysconfig.get_path("scripts")) / "powercut", tmp_path)
    (tmp_path / "powercut-python").write_text("#!/no/python\n")
    (tmp_path / "powercut-python").chmod(0o755)
    done = subprocess.run([tmp_path / "powercut", "--version"], capture_output=True, text=True)
    said = "No such file or directory. The Python in its first line must be there, and yours to run.\n"
    assert (done.returncode, done.stderr) == (3, f"powercut: cannot start {tmp_path}/powercut-python: {said}")
