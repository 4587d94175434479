"""The programs of race/published: how they are built, their seeded races, the commands that run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import CORPUS
from memory_cases import ENVIRONMENT

SOURCE = CORPUS / "race" / "published"
_MARKS = re.compile(r"\b(WRITE|READ|EFFECT|LOCK)\b((?: [a-z-]+)*)")
_FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O2", "-pthread")


@dataclass(frozen=True)
class SeededRace:
    """One seeded race: its program and the kind of its finding."""

    program: str
    name: str
    kind: str


@dataclass(frozen=True)
class RaceProgram:
    """A program of the folder, with the races that can be compiled into it.

    Attributes:
        client: the source of what drives it, if it is a server.
    """

    name: str
    grammar: Path
    sources: tuple[Path, ...]
    libraries: tuple[str, ...]
    client: Path | None
    races: tuple[SeededRace, ...]


@dataclass(frozen=True)
class BuiltProgram:
    """One with a race, or with none, whose pool is made.

    Attributes:
        driver: the client, if it is a server.
    """

    path: Path
    data: Path
    driver: Path | None = None

    @property
    def workload(self) -> list[str]:
        """The command that carries out the commands on its standard input, or that answers clients at {port}."""
        return [str(self.path), str(self.data), *(("serve", "{port}") if self.driver else ())]

    @property
    def client(self) -> str | None:
        """The command that sends the commands on its standard input to the server at {port}."""
        return shlex.join([str(self.driver), "{port}"]) if self.driver else None

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
            tuple(SOURCE / source for source in entry["sources"]),
            tuple(entry.get("libraries", ())),
            SOURCE / entry["client"] if "client" in entry else None,
            tuple(SeededRace(name, race["name"], race["kind"]) for race in entry["race"]),
        )
        for name, entry in table.items()
    ]


def build_program(program: RaceProgram, race: str | None, folder: Path, *flags: str) -> BuiltProgram:
    """Compile a program, with a race or without, and make its pool in folder/data."""
    path, data = folder / program.name, folder / "data"
    links = [f"-l{library}" for library in program.libraries]
    _compile(path, program.sources, f'-DSEEDED="{race or ""}"', *flags, links=links)
    driver = None
    if program.client is not None:
        driver = folder / "client"
        _compile(driver, [program.client])
    data.mkdir()
    subprocess.run([str(path), str(data), "create"], check=True, env={**os.environ, **ENVIRONMENT})
    return BuiltProgram(path, data, driver)


def _compile(path: Path, sources: Sequence[Path], *flags: str, links: Sequence[str] = ()) -> None:
    subprocess.run(["gcc", *_FLAGS, *flags, "-o", str(path), *map(str, sources), *links], check=True)


def marked_lines(program: str, mark: str, race: str) -> set[tuple[str, int]]:
    """The lines, as file and number, that carry a mark for a race, or for all of them."""
    (sources,) = (one.sources for one in race_programs() if one.name == program)
    found = set()
    for source in sources:
        for number, line in enumerate(source.read_text().splitlines(), 1):
            for name, races in _MARKS.findall(line.rpartition(" // ")[2] if " // " in line else ""):
                if name == mark and (not races or race in races.split()):
                    found.add((source.name, number))
    return found
