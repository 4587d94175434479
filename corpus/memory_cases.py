"""The cases of memory/: how they are built, what they start with and what must come out."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness import CORPUS, build, check_command

# What powercut sets for workload and check when it records memory: libpmem then flushes cache lines on any file system.
ENVIRONMENT = {"PMEM_IS_PMEM_FORCE": "1"}


@dataclass(frozen=True)
class Built:
    """A twin that is ready to run: the command of the workload, that of the check, and the data folder."""

    workload: list[str]
    check: str
    data: Path

    def run(self, acked: Path) -> None:
        """Run the workload without powercut; what it says goes to a file."""
        with acked.open("w") as said:
            subprocess.run(self.workload, stdout=said, check=True, env={**os.environ, **ENVIRONMENT})

    def judge(self, acked: Path) -> int:
        """Run the check without powercut; its exit status."""
        given = {"POWERCUT_DIR": str(self.data), "POWERCUT_ACKED": str(acked), **ENVIRONMENT}
        return subprocess.run(shlex.split(self.check), cwd=self.data, env={**os.environ, **given}).returncode


@dataclass(frozen=True)
class Twins:
    """A folder with both twins and the check."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    def source(self, twin: str) -> Path:
        """The program, "buggy" or "fixed"; one for both where the mistake is in the recovery."""
        (path,) = [*self.folder.glob(f"{twin}.*")] or self.folder.glob("workload.*")
        return path

    def check_source(self, twin: str) -> Path:
        """The recovery and check; one for each twin where the mistake is in the recovery."""
        (path,) = [*self.folder.glob(f"check-{twin}.*")] or self.folder.glob("check.*")
        return path


@dataclass(frozen=True)
class MemoryCase(Twins):
    """One known mistake: a folder under memory/ with both twins, the check and what must come out."""

    title: str
    language: str
    memory: tuple[str, ...]  # the buggy twin must be reported on each of these memories; the first is its own
    safe: tuple[str, ...]  # these forgive the mistake: the buggy twin is silent
    fs: tuple[str, ...]  # the buggy twin must be reported on each of these file systems
    silent: tuple[str, ...]  # the fixed twin is silent
    kinds: frozenset[str]  # of the findings
    create: bool  # the program makes its pool beforehand, when called with FOLDER create
    libraries: tuple[str, ...]

    def build(self, twin: str, folder: Path) -> Built:
        """Compile workload and check, make the data folder with which the workload starts."""
        flags = ("-O1", *(f"-l{library}" for library in self.libraries))
        program = build(self.source(twin), folder, flags)
        check = self.check_source(twin)
        judge = check_command(check) if check.suffix == ".py" else shlex.join(build(check, folder, flags))
        data = folder / "data"
        if (self.folder / "seed").is_dir():
            shutil.copytree(self.folder / "seed", data)
        else:
            data.mkdir()
        if self.create:
            subprocess.run([*program, str(data), "create"], check=True, env={**os.environ, **ENVIRONMENT})
        return Built([*program, str(data)], judge, data)


def memory_cases() -> list[MemoryCase]:
    """All cases of memory/, by name."""
    return [_read_case(path) for path in sorted((CORPUS / "memory").glob("*/case.toml"))]


def _read_case(path: Path) -> MemoryCase:
    table = tomllib.loads(path.read_text())
    lists = {key: tuple(table.get(key, ())) for key in ("memory", "safe", "fs", "silent", "libraries")}
    return MemoryCase(
        path.parent,
        table["title"],
        table["language"],
        kinds=frozenset(table["expected"]["kinds"]),
        create=table.get("create", False),
        **lists,
    )
