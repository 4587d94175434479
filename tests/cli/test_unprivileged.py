"""powercut as an ordinary user: run by root as `nobody`, or as whoever runs the tests."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import SAVE, World

NOBODY = 65534
PACKAGES = site.getsitepackages()[0]
START = (
    "import site, sys; site.addsitedir(sys.argv.pop(1)); sys.argv[0] = 'powercut'\n"
    "from powercut.commands.main import main; main()"
)


def interpreter() -> str:
    """A Python of our version that everybody may run."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, f"/usr/bin/python{version}"):
        with suppress(OSError):
            if become_nobody([path, "-c", START, PACKAGES, "--version"], cwd="/").returncode == 0:
                return path
    pytest.skip("no Python that an ordinary user may run")


def become_nobody(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, **options
    )


def run(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**world.env, "HOME": "/nonexistent"}
    return become_nobody([interpreter(), "-c", START, PACKAGES, *arguments], cwd=world.here, env=environment)


@pytest.fixture
def theirs() -> Iterator[World]:
    """A world that belongs to nobody, where nobody can reach it."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as folder:
        world = World.make(Path(folder))
        for path in (world.here, *world.here.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        yield world


def test_an_ordinary_user_finds_the_same(theirs: World) -> None:
    for option in ("--namespaces", "--no-namespaces"):
        script = 'printf new > "$0/f.tmp" && mv "$0/f.tmp" "$0/f" && echo saved'
        ended = run(theirs, "test", "--dir", "data", "--check", "sh check", option, "--", "sh", "-c", script, "data")
        assert ended.returncode == 1, ended.stderr
        assert "acknowledged but lost" in ended.stdout
        assert run(theirs, "replay", ended.stdout.split()[0]).returncode == 1
    assert (theirs.data / "f").read_text() == "old"


def test_files_that_may_not_be_read(theirs: World) -> None:
    (theirs.data / "secret").write_text("x")
    (theirs.data / "secret").chmod(0o600)  # root's
    ended = run(theirs, "test", "--dir", "data", "--", "sh", "-c", SAVE)
    assert ended.stderr.splitlines()[-1] == (
        f"powercut: cannot copy {theirs.data}/secret: Permission denied. powercut must be able to read it. "
        "[copy-failed]"
    )
    assert ended.returncode == 3


def test_folders_that_may_not_be_written(theirs: World) -> None:
    os.chown(theirs.here, 0, 0)
    theirs.here.chmod(0o755)
    ended = run(theirs, "test", "--dir", "data", "--", "sh", "-c", SAVE)
    assert ended.stderr == (
        f"powercut: cannot create a folder for this run in {theirs.here}/.powercut: Permission denied. Choose another "
        "folder with --output DIR. [output-unwritable]\n"
    )
    ended = run(theirs, "record", "-o", "t", "--dir", "data", "--", "sh", "-c", SAVE)
    assert (
        ended.stderr == f"powercut: cannot write {theirs.here}/t: {theirs.here} is not writable. [output-unwritable]\n"
    )
    ended = run(theirs, "test", "--dir", "data", "--output", "tmp/runs", "--check", "sh check", "--", "sh", "-c", SAVE)
    assert ended.returncode == 1


def test_a_data_folder_of_somebody_else(theirs: World) -> None:
    """Readable is enough: the program runs on a copy."""
    for path in (theirs.data, theirs.data / "f"):
        os.chown(path, 0, 0)
    ended = run(theirs, "test", "--dir", "data", "--check", "sh check", "--", "sh", "-c", SAVE)
    assert ended.returncode == 1, ended.stderr


def test_a_check_that_locks_its_folder(theirs: World) -> None:
    (theirs.here / "lock").write_text(f". {theirs.here}/check; mkdir -p a/b; chmod 000 a/b a .; exit 0")
    ended = run(theirs, "test", "--dir", "data", "--check", "sh lock", "--", "sh", "-c", SAVE)
    assert ended.returncode == 1, ended.stderr
