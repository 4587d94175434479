"""What tests of several files share."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

import pmdk_programs as programs


@pytest.fixture(scope="session")
def built_pmdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PMDK's example programs, built once: by the first worker that needs them, while others wait."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "pmdk-programs"
    with (shared / "pmdk-programs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = tmp_path_factory.mktemp("programs")
            programs.build(unfinished)
            unfinished.rename(folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder
