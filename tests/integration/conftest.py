"""What tests of several files share."""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus" / "store"))

import pmdk_programs as programs
from harness import CORPUS, check_command
from store_cases import build_store


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """A folder of programs, built by the first worker that needs them, while others wait."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = factory.mktemp("programs")
            build(unfinished)
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def built_pmdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PMDK's example programs."""
    return built_once(tmp_path_factory, "pmdk-programs", programs.build)


@pytest.fixture(scope="session")
def built_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of corpus/store."""
    return built_once(tmp_path_factory, "store-program", build_store) / "store"


@pytest.fixture(scope="session")
def sqlite_check(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The check of corpus/real/sqlite_rows.py: in C, if SQLite's library is there to link with, else in Python."""
    source = CORPUS / "real" / "sqlite_check.c"
    library = "-l:libsqlite3.so.0"

    def build(folder: Path) -> None:
        command = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", folder / "check", source, library]
        subprocess.run(command, capture_output=True)

    program = built_once(tmp_path_factory, "sqlite-check", build) / "check"
    return [str(program)] if program.exists() else shlex.split(check_command(source.with_suffix(".py")))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The service of tests/guard_programs, which `powercut guard` watches."""
    source = Path(__file__).parents[1] / "guard_programs" / "service.c"
    libraries = ["-lpmemobj", "-lpmem", "-lpthread"]

    def build(folder: Path) -> None:
        subprocess.run(["gcc", "-g", "-O1", "-o", folder / "service", source, *libraries], check=True)

    return built_once(tmp_path_factory, "guard-service", build) / "service"
