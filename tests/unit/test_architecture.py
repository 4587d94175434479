"""ARCHITECTURE.md is the plan of the tree: its rooms are the folders, its layers are those that make lint enforces."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGE = ROOT / "src" / "powercut"
# Finds the copy instead of the installed package, and runs import-linter on it.
LINT = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
sys.path.insert(0, "src")
from importlinter.cli import lint_imports_command
lint_imports_command(["--no-cache", "--no-logo"])
"""


def layers() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    assert "ignore_imports" not in contract
    found: list[str] = contract["layers"]
    return found


def folders(place: Path) -> set[str]:
    return {folder.name for folder in place.iterdir() if any(folder.glob("*.[pch]*"))}


def test_rooms_are_the_folders_of_the_tree() -> None:
    table = TEXT.partition("## The rooms")[2].partition("\n## ")[0]
    named = {room for row in re.findall(r"^\| (`.*?) \|", table, re.M) for room in re.findall(r"`([\w/]+)/`", row)}
    ways_in = {"pytest_plugin"}  # stands beside commands
    assert {room for room in named if "/" not in room} - {"corpus", "survey", "bench", "docs", "tools"} == {
        *(folders(PACKAGE) - ways_in - {"__pycache__"})
    }
    assert {room.removeprefix("native/") for room in named if room.startswith("native/")} == folders(ROOT / "native")


def test_layers_are_those_that_lint_enforces() -> None:
    picture = TEXT.partition("## The layers")[2].split("```")[1]
    shown = [re.split(r"\s{2,}", line.strip())[0] for line in picture.strip().splitlines()]
    assert shown == [layer for layer in layers() if layer != "__main__"]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True, timeout=120)


def test_an_import_against_the_layers_is_refused(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "src" / "powercut", ignore=shutil.ignore_patterns("__pycache__"))
    kept = lint(tmp_path)
    assert kept.returncode == 0, kept.stdout
    with open(tmp_path / "src" / "powercut" / "model" / "memory.py", "a") as file:
        file.write("\nfrom powercut.report import terminal\n")
    broken = lint(tmp_path)
    assert broken.returncode == 1
    assert "powercut.model is not allowed to import powercut.report" in broken.stdout
