"""Build PMDK's examples from Debian's libpmemobj-dev, and make the pools they start with; nothing is copied from there.

The programs use libpmem. They rely on PMEM_IS_PMEM_FORCE=1 in their environment, which powercut sets for workload and
check when it records memory: the library then flushes cache lines on any file system instead of calling msync.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness import CORPUS
from memory_cases import ENVIRONMENT

PMDK = CORPUS / "pmdk"
EXAMPLES = Path("/usr/share/doc/libpmemobj-dev/examples")
MAPS = ("ctree", "btree", "rtree", "rbtree", "hashmap_tx", "hashmap_atomic", "hashmap_rp", "skiplist")
STORES = ("string_store", "string_store_tx", "string_store_tx_type")
LAYOUTS = {"mapcli": "map", "fifo": "list", "queue": "queue", "btree": "btree"}

_MAP_SOURCES = ("map/map.c", "map/map_*.c", "tree_map/*tree_map.c", "hashmap/hashmap_*.c", "list_map/skiplist_map.c")
_FOLDERS = ("map", "tree_map", "hashmap", "list_map", "")


def available() -> bool:
    """Whether the examples and the library are there."""
    return (EXAMPLES / "map" / "mapcli.c").exists() and Path("/usr/include/libpmemobj.h").exists()


def includes() -> list[str]:
    """Where the examples find their headers."""
    return [f"-I{PMDK}", *(f"-I{EXAMPLES / name}" for name in _FOLDERS)]


def map_sources() -> list[Path]:
    """All maps, and what gives them one face."""
    return [path for pattern in _MAP_SOURCES for path in sorted(EXAMPLES.glob(pattern))]


def build(folder: Path) -> None:
    """Compile all programs into a folder."""
    maps = map_sources()
    sources = {
        "mapcli": [EXAMPLES / "map" / "mapcli.c", *maps],
        "map_check": [PMDK / "map_check.c", *maps],
        "make_pool": [PMDK / "make_pool.c"],
        "fifo": [EXAMPLES / "linkedlist" / "fifo.c"],
        "queue": [EXAMPLES / "queue" / "queue.c"],
        "btree": [EXAMPLES / "btree.c"],
    }
    for store in STORES:
        for part in ("writer", "reader"):
            sources[f"{store}_{part}"] = [EXAMPLES / store / f"{part}.c"]
    for name, files in sources.items():
        _compile(folder / name, files)


def build_without_snapshots(program: Path) -> None:
    """Compile mapcli with a mistake: its transactions do not snapshot what they change."""
    _compile(program, [EXAMPLES / "map" / "mapcli.c", *map_sources()], "-include", PMDK / "no_snapshot.h")


def compile_with_maps(program: Path, source: Path) -> None:
    """Compile a program that uses the maps."""
    _compile(program, [source, *map_sources()])


def _compile(program: Path, files: Sequence[Path], *options: str | Path) -> None:
    libraries = ["-lpmemobj", "-lpmem", "-pthread"]
    command = ["gcc", "-g", "-O1", *options, *includes(), "-o", program, *files, *libraries]
    subprocess.run(list(map(str, command)), check=True)


def make_pool(programs: Path, pool: Path, name: str) -> None:
    """Make an empty pool for an example."""
    native([programs / "make_pool", pool, LAYOUTS[name]])
    if name == "queue":
        native([programs / name, pool, "new", "3"])


def make_map(programs: Path, pool: Path, kind: str) -> None:
    """Make a pool with a map that holds keys 1 and 2."""
    make_pool(programs, pool, "mapcli")
    native([programs / "mapcli", kind, pool, "1"], input=b"i 1\ni 2\n")


def native(command: list[str | Path], **options: object) -> None:
    """Run a program outside powercut, with the same environment as inside."""
    subprocess.run(list(map(str, command)), check=True, env={**os.environ, **ENVIRONMENT}, **options)
