"""The small targets of search.py, each with its known bugs, ready to be recorded.

The corpus store with its seeded bugs; SQLite and LMDB with syncs switched off; PMDK's maps without snapshots in their
transactions. What a machine lacks (LMDB's package, PMDK's examples, Valgrind) is left out.
"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from hunt import Known

from powercut.native_programs import why_no_memory_tool

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus" / "store"))

import pmdk_programs
from harness import CORPUS, check_command, lmdb_check
from store_cases import Store, build_store, store_bugs

SQLITE = (("DELETE", "FULL"), ("WAL", "NORMAL"), ("DELETE", "OFF"), ("WAL", "OFF"))
LMDB = ("nosync", "nometasync")
MAPS = ("btree", "rbtree", "hashmap_tx")
CHANGES = ("i 10", "i 20", "i 5", "r 10", "i 30", "i 40", "i 50", "i 60", "i 70", "r 5", "i 80")


def _data(folder: Path, name: str) -> Path:
    data = folder / name / "data"
    data.mkdir(parents=True)
    return data


def store(folder: Path) -> Iterator[Known]:
    """The corpus store: each seeded bug, on the first model that shows it."""
    program = build_store(folder)
    for bug in store_bugs():
        data, seeded = _data(folder, bug.name), Store(program, bug.name)
        yield Known("store", bug.name, data, seeded.workload(data, bug.workload), seeded.check, {"fs": bug.fs[0]})


def sqlite(folder: Path) -> Iterator[Known]:
    """SQLite with fewer syncs than it takes to keep what was committed, or to stay whole."""
    check = check_command(CORPUS / "real" / "sqlite_check.py")
    for journal, synchronous in SQLITE:
        data = _data(folder, f"{journal}-{synchronous}")
        workload = [sys.executable, str(CORPUS / "real" / "sqlite_rows.py"), str(data), journal, synchronous]
        subprocess.run([*workload, "0"], check=True)  # the database exists before the recorded run starts
        yield Known("sqlite", f"{journal}, synchronous={synchronous}", data, workload, check)


def lmdb(folder: Path) -> Iterator[Known]:
    """LMDB with fewer syncs than it takes."""
    for mode in LMDB if importlib.util.find_spec("lmdb") else ():
        check = lmdb_check()
        data = _data(folder, mode)
        workload = [sys.executable, str(CORPUS / "real" / "lmdb_rows.py"), str(data), mode]
        subprocess.run([*workload, "0"], check=True)
        yield Known("lmdb", mode, data, workload, check)


def pmdk(folder: Path) -> Iterator[Known]:
    """PMDK's maps, whose transactions do not snapshot what they change."""
    if not pmdk_programs.available() or why_no_memory_tool():
        return
    pmdk_programs.build(folder)
    pmdk_programs.build_without_snapshots(folder / "careless")
    commands = folder / "commands"
    commands.write_text("".join(f"{change}\nc {change.split()[1]}\n" for change in CHANGES))
    for kind in MAPS:
        data = _data(folder, f"map-{kind}")
        pmdk_programs.make_map(folder, data / "pool", kind)
        program = [folder / "careless", kind, data / "pool", commands]
        workload = ["sh", str(pmdk_programs.PMDK / "mapcli.sh"), *map(str, program)]
        check = shlex.join([str(folder / "map_check"), kind, "pool", str(commands)])
        yield Known("pmdk", f"{kind} without snapshots", data, workload, check, {"tracer": "memory"})


TARGETS = {"store": store, "sqlite": sqlite, "lmdb": lmdb, "pmdk": pmdk}
