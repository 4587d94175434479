"""The store of corpus/store: how it is built, its seeded mistakes, and the commands that run and judge it."""

from __future__ import annotations

import os
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
MODELS = ("ext4-ordered", "xfs", "btrfs", "posix")  # on all of them the store is correct

_TABLE = tomllib.loads((SOURCE / "cases.toml").read_text())

WORKLOADS: dict[str, list[str]] = {name: line.split() for name, line in _TABLE["workloads"].items()}
SYNCS: dict[str, tuple[str, ...]] = {name: tuple(models) for name, models in _TABLE["syncs"].items()}


@dataclass(frozen=True)
class StoreBug:
    """One seeded mistake."""

    name: str
    kinds: tuple[str, ...]  # findings have one of these kinds; the first is always among them
    fs: tuple[str, ...]  # models that show it
    safe: tuple[str, ...]  # models that forgive it
    workload: str  # a small one that shows it
    deep: str | None  # one that hides it deep inside, if there is one


def store_bugs() -> list[StoreBug]:
    """All seeded mistakes, in the order of cases.toml."""
    return [
        StoreBug(
            name=table["name"],
            kinds=tuple(table["kinds"]),
            fs=tuple(table["fs"]),
            safe=tuple(table.get("safe", ())),
            workload=table.get("workload", "small"),
            deep=table.get("deep"),
        )
        for table in _TABLE["bug"]
    ]


@dataclass(frozen=True)
class Store:
    """The built program, with a mistake and syncs left out, if any."""

    program: Path
    bug: str | None = None
    skipped: tuple[str, ...] = ()  # syncs

    @property
    def _faults(self) -> list[str]:
        bug = ["--bug", self.bug] if self.bug else []
        return [*bug, *(["--skip-sync", ",".join(self.skipped)] if self.skipped else [])]

    def workload(self, data: Path, name: str, *options: str) -> list[str]:
        """The command that runs a workload of cases.toml."""
        return [str(self.program), str(data), "run", *WORKLOADS[name], *options, *self._faults]

    @property
    def check(self) -> str:
        """The command that recovers and judges the store in the current folder."""
        return shlex.join([str(self.program), ".", "verify", *self._faults])

    def judge(self, data: Path, acked: Path) -> subprocess.CompletedProcess[str]:
        """Run the check without powercut."""
        given = {**os.environ, "POWERCUT_ACKED": str(acked)}
        return subprocess.run(shlex.split(self.check), cwd=data, env=given, capture_output=True, text=True)


def build_store(folder: Path) -> Path:
    """Compile the store; one program holds all mistakes."""
    program = folder / "store"
    sources = sorted(map(str, SOURCE.glob("*.c")))
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-O2", "-o", program, *sources], check=True)
    return program
