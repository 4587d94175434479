"""The cases of race/: how they are built, what they start with and what must come out."""

from __future__ import annotations

import os
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness import CORPUS, build
from memory_cases import ENVIRONMENT, Built, Twins

TWINS = ("buggy", "fixed")


@dataclass(frozen=True)
class RaceCase(Twins):
    """One known race: a folder under race/ with both twins, recovery and check, and what must come out."""

    title: str
    language: str
    threads: int
    kinds: frozenset[str]  # of the findings of the buggy twin: inter, intra, sync; all of them come, and no other
    allow: tuple[str, ...]  # functions whose side effects are benign in the fixed twin
    create: bool  # the program makes its pool beforehand, when called with FOLDER create
    libraries: tuple[str, ...]

    def recovery_source(self, twin: str) -> Path:
        """What a restart does: the check, unless it does more than a restart."""
        return next(self.folder.glob("recover.*"), self.check_source(twin))

    def build(self, twin: str, folder: Path) -> RaceBuilt:
        """Compile workload, recovery and check, make the data folder with which the workload starts."""
        flags = ("-O1", "-pthread", *(f"-l{library}" for library in self.libraries))
        program = build(self.source(twin), folder, flags)
        check = build(self.check_source(twin), folder, flags)
        recovery = build(self.recovery_source(twin), folder, flags)
        data = folder / "data"
        data.mkdir()
        if self.create:
            subprocess.run([*program, str(data), "create"], check=True, env={**os.environ, **ENVIRONMENT})
        return RaceBuilt([*program, str(data)], shlex.join(check), data, shlex.join(recovery))


@dataclass(frozen=True)
class RaceBuilt(Built):
    """A twin that is ready to run, with the command that restarts it after a power cut."""

    recovery: str


def race_cases() -> list[RaceCase]:
    """All cases of race/, by name."""
    return [_read_case(path) for path in sorted((CORPUS / "race").glob("*/case.toml"))]


def _read_case(path: Path) -> RaceCase:
    table = tomllib.loads(path.read_text())
    return RaceCase(
        path.parent,
        table["title"],
        table["language"],
        table["threads"],
        kinds=frozenset(table["expected"]["kinds"]),
        allow=tuple(table.get("allow", ())),
        create=table.get("create", False),
        libraries=tuple(table.get("libraries", ())),
    )
