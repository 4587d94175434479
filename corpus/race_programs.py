"""The programs of race/published: how they are built, their seeded races, the commands that run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness import CORPUS
from memory_cases import ENVIRONMENT

SOURCE = CORPUS / "race" / "published"
SHARED = ("target.c",)
_MARKS = re.compile(r"\b(WRITE|READ|EFFECT|LOCK)\b((?: [a-z-]+)*)")


@dataclass(frozen=True)
class SeededRace:
    """One seeded race: its program and the kind of its finding."""

    program: str
    name: str
    kind: str


@dataclass(frozen=True)
class RaceProgram:
    """A program of the folder, with the races that can be compiled into it."""

    name: str
    grammar: Path
    races: tuple[SeededRace, ...]


@dataclass(frozen=True)
class BuiltProgram:
    """One with a race, or with none, whose pool is made."""

    path: Path
    data: Path

    @property
    def workload(self) -> list[str]:
        """The command that carries out the commands on its standard input."""
        return [str(self.path), str(self.data)]

    @property
    def recovery(self) -> str:
        """The command that recovers the pool in the current folder."""
        return shlex.join([str(self.path), ".", "recover"])

    @property
    def check(self) -> str:
        """The command that judges and recovers it."""
        return shlex.join([str(self.path), ".", "verify"])


def race_programs() -> list[RaceProgram]:
    """All of them, in the order of cases.toml."""
    table = tomllib.loads((SOURCE / "cases.toml").read_text())
    return [
        RaceProgram(
            name,
            SOURCE / entry["grammar"],
            tuple(SeededRace(name, race["name"], race["kind"]) for race in entry["race"]),
        )
        for name, entry in table.items()
    ]


def build_program(program: str, race: str | None, folder: Path, *flags: str) -> BuiltProgram:
    """Compile a program, with a race or without, and make its pool in folder/data."""
    path, data = folder / program, folder / "data"
    sources = [str(SOURCE / name) for name in (f"{program}.c", *SHARED)]
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O2", "-pthread", *flags]
    command += [f'-DSEEDED="{race or ""}"', "-o", str(path), *sources, "-lpmemobj"]
    subprocess.run(command, check=True)
    data.mkdir()
    subprocess.run([str(path), str(data), "create"], check=True, env={**os.environ, **ENVIRONMENT})
    return BuiltProgram(path, data)


def marked_lines(program: str, mark: str, race: str) -> set[tuple[str, int]]:
    """The lines, as file and number, that carry a mark for a race, or for all of them."""
    found = set()
    for source in (SOURCE / f"{program}.c", *(SOURCE / name for name in SHARED)):
        for number, line in enumerate(source.read_text().splitlines(), 1):
            for name, races in _MARKS.findall(line.rpartition(" // ")[2] if " // " in line else ""):
                if name == mark and (not races or race in races.split()):
                    found.add((source.name, number))
    return found
