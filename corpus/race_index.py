"""The hash table and the B+ tree of race/index: how they are built, their mistakes, the commands that run them."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness import CORPUS

SOURCE = CORPUS / "race" / "index"
GRAMMAR = SOURCE / "grammar.toml"
MAPS = ("table", "tree")
_MARKS = re.compile(r"\b(WRITE|READ|EFFECT|LOCK|HELD)\b((?: [a-z-]+)*)")


@dataclass(frozen=True)
class IndexBug:
    """One seeded mistake: the maps that can make it, and the kinds of its findings."""

    name: str
    maps: tuple[str, ...]
    kinds: frozenset[str]


def index_bugs() -> list[IndexBug]:
    """All seeded mistakes, in the order of cases.toml."""
    table = tomllib.loads((SOURCE / "cases.toml").read_text())
    return [IndexBug(bug["name"], tuple(bug["maps"]), frozenset(bug["kinds"])) for bug in table["bug"]]


@dataclass(frozen=True)
class Index:
    """The built program with one map, and with a mistake, if any."""

    program: Path
    map: str
    bug: str | None = None

    @property
    def _mistake(self) -> list[str]:
        return ["--bug", self.bug] if self.bug else []

    def workload(self, data: Path, *options: str) -> list[str]:
        """The command that carries out the operations on its standard input."""
        return [str(self.program), self.map, str(data), *options, *self._mistake]

    @property
    def check(self) -> str:
        """The command that recovers and judges the map in the current folder."""
        return shlex.join([str(self.program), self.map, ".", "verify", *self._mistake])


def build_index(folder: Path, *flags: str) -> Path:
    """Compile it; one program holds both maps and all mistakes."""
    program = folder / "index"
    sources = sorted(map(str, SOURCE.glob("*.c")))
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O2", "-pthread", *flags, "-o", str(program)]
    subprocess.run([*command, *sources], check=True)
    return program


def marked_lines(mark: str, bug: str) -> set[tuple[str, int]]:
    """The lines, as file and number, that carry a mark for a mistake, or for all of them."""
    found = set()
    for source in [*SOURCE.glob("*.c"), *SOURCE.glob("*.h")]:
        for number, line in enumerate(source.read_text().splitlines(), 1):
            for name, bugs in _MARKS.findall(line.rpartition(" // ")[2] if " // " in line else ""):
                if name == mark and (not bugs or bug in bugs.split()):
                    found.add((source.name, number))
    return found
