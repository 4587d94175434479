"""PMDK's own example maps, compiled with `powercut cc` and unedited apart from transaction checkers: clean as they are,
and with one statement taken out, that is found at the line that needed it."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

import powercut
from powercut.assertions.check import Checked

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

import pmdk_programs as programs
from harness import POWERCUT
from memory_cases import ENVIRONMENT
from pmdk_programs import EXAMPLES, MAPS

pytestmark = [
    pytest.mark.xdist_group("cc-pmdk"),  # one build for all
    pytest.mark.skipif(not programs.available(), reason="libpmemobj-dev is not installed"),
]
KEYS = 60  # enough for splits, merges and a rebuilt table
BACKUP, COMPLETION = "missing-backup", "incomplete-transaction"


class Seed(NamedTuple):
    """A statement that is taken out, by its beginning and which of several, and the stores that needed it."""

    source: str
    statement: str
    which: int
    pattern: str
    stores: tuple[str, ...]


SEEDS = {
    "ctree": Seed(
        "tree_map/ctree_map.c",
        "pmemobj_tx_add_range_direct(p,",
        0,
        BACKUP,
        ("p->key = 0;", "p->slot = new_node.oid;"),
    ),
    "btree": Seed(
        "tree_map/btree_map.c",
        "TX_ADD(node)",
        2,
        BACKUP,
        ("memmove(&D_RW(node)->items[p + 1]", "D_RW(node)->items[pos] = item;", "D_RW(node)->n += 1;"),
    ),
    "rbtree": Seed(
        "tree_map/rbtree_map.c",
        "TX_ADD(child)",
        0,
        BACKUP,
        ("NODE_P(child) = NODE_P(node);", "D_RW(child)->slots[c] = node;"),
    ),
    "hashmap_tx": Seed("hashmap/hashmap_tx.c", "TX_ADD_FIELD(hashmap, count)", 0, BACKUP, ("D_RW(hashmap)->count++;",)),
    "skiplist": Seed(
        "list_map/skiplist_map.c",
        "TX_ADD_FIELD(path[current_level]",
        0,
        BACKUP,
        ("D_RW(path[current_level])->next[current_level] = new_node;",),
    ),
    "hashmap_atomic": Seed(
        "hashmap/hashmap_atomic.c",
        "pmemobj_persist(pop, &D_RW(hashmap)->count_dirty",
        1,
        COMPLETION,
        ("D_RW(hashmap)->count_dirty = 0;",),
    ),
}


def compiled(source: Path, target: Path) -> Path:
    flags = ["-g", "-O1", "-c", *programs.includes(), f"-I{source.parent}", "-include", "powercut.h"]
    subprocess.run(list(map(str, [POWERCUT, "cc", *flags, source, "-o", target])), check=True)
    return target


def linked(objects: list[Path], target: Path) -> Path:
    subprocess.run(list(map(str, [POWERCUT, "cc", *objects, "-o", target, "-lpmemobj", "-lpmem"])), check=True)
    return target


def with_checkers(source: str) -> str:
    """mapcli, with a checker around each insert and remove; on their own lines, so that no line moves."""
    checked, count = re.subn(
        r"(\n\t+)(map_(?:insert|remove)\(mapc, map, key.*?\);)",
        r"\1{ pc_tx_checker_start(); \2 pc_tx_checker_end(); }",
        source,
    )
    assert count == 2
    return checked


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Path]]:
    """mapcli, and the objects it is made of by the names of their sources."""
    folder = tmp_path_factory.mktemp("maps")
    mapcli = folder / "mapcli.c"
    mapcli.write_text(with_checkers((EXAMPLES / "map" / "mapcli.c").read_text()))
    sources = [mapcli, *programs.map_sources()]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda source: compiled(source, folder / f"{source.stem}.o"), sources))
    return linked(objects, folder / "mapcli"), {path.stem: path for path in objects}


def check(program: Path, kind: str, folder: Path) -> Checked:
    steps = [
        f"{what} {key * 7 % 101}\n" for what, keys in (("i", range(KEYS)), ("r", range(0, KEYS, 2))) for key in keys
    ]
    commands, pool = folder / "commands", folder / "pool"
    commands.write_text("".join(steps))
    pool.unlink(missing_ok=True)
    shell = ["sh", "-c", 'exec "$0" "$1" "$2" 1 <"$3"', str(program), kind, str(pool), str(commands)]
    return powercut.check_program(shell, variables=ENVIRONMENT, quiet=True, timeout=60)


def test_calls_of_pmdk_mean_what_they_promise(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[1] / "cc_programs" / "transactions.c"
    program = linked([compiled(source, tmp_path / "transactions.o")], tmp_path / "transactions")
    checked = powercut.check_program([str(program), str(tmp_path / "pool")], variables=ENVIRONMENT)
    expected = {
        (number, kind)
        for number, line in enumerate(source.read_text().splitlines(), 1)
        for kind in re.findall(r"FAIL ([a-z-]+)", line)
    }
    assert len(expected) == 5
    assert {(finding.locations[0].line, finding.pattern) for finding in checked.findings} == expected
    assert checked.ending == ""


@pytest.mark.parametrize("kind", MAPS)
def test_map_is_checked_and_nothing_fails(built: tuple[Path, dict[str, Path]], kind: str, tmp_path: Path) -> None:
    checked = check(built[0], kind, tmp_path)
    assert not checked.failures
    assert {finding.pattern for finding in checked.warnings} <= {"duplicate-log", "unnecessary-writeback"}
    assert checked.operations > 3 * KEYS
    assert checked.ending == ""


@pytest.mark.parametrize("kind", SEEDS)
def test_what_is_taken_out_is_missed_at_its_line(
    built: tuple[Path, dict[str, Path]], kind: str, tmp_path: Path
) -> None:
    seed = SEEDS[kind]
    lines = (EXAMPLES / seed.source).read_text().splitlines()
    source = tmp_path / Path(seed.source).name
    source.write_text(_without("\n".join(lines), seed.statement, seed.which))
    objects = {**built[1], source.stem: compiled(source, tmp_path / "changed.o")}
    checked = check(linked(list(objects.values()), tmp_path / "mapcli"), kind, tmp_path)
    role = "at" if seed.pattern == BACKUP else "written"
    places = {
        (location.file, location.line)
        for finding in checked.failures
        for location in finding.locations
        if finding.pattern == seed.pattern and location.role == role
    }
    assert places
    assert {file for file, _ in places} == {str(source)}
    found = {lines[(line or 0) - 1].strip() for _, line in places}
    assert all(any(text.startswith(store) for store in seed.stores) for text in found), found


def _without(text: str, statement: str, occurrence: int) -> str:
    """The text without a statement; its lines stay."""
    start = [match.start() for match in re.finditer(re.escape(statement), text)][occurrence]
    end = text.index(";", start)
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
