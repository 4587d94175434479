"""The maps of corpus/assertions: how they are built, their seeded mistakes, and the lines that findings must name."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from powercut.assertions.build import compiler_flags, include_folder, linker_flags

SOURCE = Path(__file__).resolve().parent
MAPS = ("ctree", "btree", "rbtree", "hashmap-tx", "hashmap-atomic")
SIZES = (64, 256, 1024, 4096)  # of values, in bytes
_MARKER = "// HERE "
_FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O2")
_LIBRARY = "tx.c"  # it logs for the maps, and is trusted with that: what it tells is told by hand


@dataclass(frozen=True)
class MapBug:
    """One seeded mistake.

    Attributes:
        group: the class of Table 5 of the paper.
        maps: those that can make it.
        kinds: of the findings, "kind" or "kind/why"; all of them come, and no other.
        severity: the worst of the findings, "fail" or "warn".
        operations: after which the workload ends.
    """

    name: str
    group: str
    maps: tuple[str, ...]
    kinds: frozenset[str]
    severity: str
    operations: int


def map_bugs() -> list[MapBug]:
    """All seeded mistakes, in the order of cases.toml."""
    return [
        MapBug(
            name=table["name"],
            group=table["class"],
            maps=tuple(table["maps"]),
            kinds=frozenset(table["kinds"]),
            severity=table["severity"],
            operations=table.get("operations", 300),
        )
        for table in tomllib.loads((SOURCE / "cases.toml").read_text())["bug"]
    ]


def marked_lines() -> dict[str, set[tuple[str, int]]]:
    """For each mistake the lines, as file and number, that its findings must name.

    A line carries the names at its end, after HERE, or in comments right above it.
    """
    lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for source in sorted(SOURCE.glob("*.c")):
        above: list[str] = []
        for number, line in enumerate(source.read_text().splitlines(), 1):
            code, _, names = line.partition(_MARKER)
            above += names.split()
            if code.strip():
                for name in above:
                    lines[name].add((source.name, number))
                above = []
    return lines


def build_maps(folder: Path, *, checked: bool = True) -> Path:
    """Compile the maps; one program holds all mistakes. Without checks nothing of powercut is left in it."""
    program = folder / ("maps-checked" if checked else "maps")
    flags = compiler_flags() if checked else [f"-I{include_folder()}"]
    libraries = linker_flags() if checked else []
    command = ["gcc", *_FLAGS, *flags, "-o", str(program)]
    subprocess.run([*command, *sorted(map(str, SOURCE.glob("*.c"))), *libraries], check=True)
    return program


def build_tracked_maps(folder: Path) -> Path:
    """Compile the maps with `powercut cc`, which records what is otherwise told by hand; the library as before."""
    gcc, tracked = ["gcc", *compiler_flags()], [str(Path(sys.executable).with_name("powercut")), "cc"]
    objects = []
    for source in sorted(SOURCE.glob("*.c")):
        objects.append(str(folder / f"{source.stem}.o"))
        command = gcc if source.name == _LIBRARY else tracked
        subprocess.run([*command, *_FLAGS, "-c", str(source), "-o", objects[-1]], check=True)
    program = folder / "maps-tracked"
    subprocess.run([*tracked, *objects, "-o", str(program)], check=True)
    return program
