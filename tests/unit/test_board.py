"""race/board.py says what native/grind/race/board.h says: every name, number, size and offset, as compiled."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from powercut.race import board
from powercut.race.board import Board, BoardFlag, BoardMode, BoardStop, Plan, PlannedSync, module_hash

HEADER = Path(__file__).resolve().parents[2] / "native" / "grind" / "race" / "board.h"
TEXT = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
STRUCTS = {
    "pc_board_site": board.SITE,
    "pc_board_sync": board.SYNC,
    "pc_board_arrival": board.ARRIVAL,
    "pc_board_plan": board.PLAN,
    "pc_board_shared": board.SHARED_WORD,
    "pc_board_candidate": board.CANDIDATE,
    "pc_board": board.BOARD,
}
ENUMS = {"pc_board_flag": BoardFlag, "pc_board_mode": BoardMode, "pc_board_stop": BoardStop}


@pytest.mark.parametrize("name", ENUMS)
def test_enums_have_the_same_members(name: str) -> None:
    body = re.search(rf"enum {name} \{{(.*?)\}}", TEXT, re.DOTALL)
    assert body is not None
    found = {key.removeprefix("PC_BOARD_"): int(value) for key, value in re.findall(r"(\w+) = (\d+)", body[1])}
    assert found == {member.name: member.value for member in ENUMS[name]}


def test_constants() -> None:
    found = {name: int(value.rstrip("u"), 0) for name, value in re.findall(r"#define PC_BOARD_(\w+)\s+(\w+)", TEXT)}
    assert found == {name: getattr(board, name) for name in found}
    assert len(found) == 12


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_sizes_and_offsets_are_those_of_the_compiler(tmp_path: Path) -> None:
    expected, lines = {}, []
    for name, dtype in STRUCTS.items():
        expected[name] = (dtype.itemsize, 0)
        lines.append(f'printf("{name} %zu 0\\n", sizeof(struct {name}));')
        assert dtype.fields is not None
        for field, (kind, offset, *_) in dtype.fields.items():
            expected[f"{name}.{field}"] = (kind.itemsize, offset)
            member = f"((struct {name} *)0)->{field}"
            lines.append(f'printf("{name}.{field} %zu %zu\\n", sizeof({member}), offsetof(struct {name}, {field}));')
    source = tmp_path / "probe.c"
    includes = f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\n'
    source.write_text(includes + "int main(void) {\n" + "\n".join(lines) + "\n}\n")
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", tmp_path / "probe", source], check=True)
    said = subprocess.run([tmp_path / "probe"], capture_output=True, text=True, check=True).stdout
    found = {name: (int(size), int(offset)) for name, size, offset in map(str.split, said.splitlines())}
    assert found == expected


def test_a_plan_stands_on_the_board() -> None:
    sync = PlannedSync(loads=[(1, 2), (3, 4)], stores=[(5, 6)], skip=7, reader=2, load_occurrence=9)
    with Board(Plan(flags=BoardFlag.LOADS, mode=BoardMode.SYNC, seed=11, run_ms=12, syncs=[sync])) as made:
        results = made.read()
    assert (results.process, results.stopped, results.candidates.size) == (0, BoardStop.RAN, 0)
    (told,) = results.syncs
    assert told["loads"][:2].tolist() == [(1, 2), (3, 4)]
    assert told["stores"][:1].tolist() == [(5, 6)]
    counts = [int(told[name]) for name in ("load_count", "store_count", "skip", "reader", "load_occurrence", "writer")]
    assert counts == [2, 1, 7, 2, 9, 0]


def test_a_program_that_writes_nonsense_to_the_board_is_not_believed() -> None:
    nonsense = np.frombuffer(b"\xff" * board.BOARD.itemsize, board.BOARD)[0]
    results = board.Results(nonsense)
    assert results.stopped is BoardStop.RAN
    assert (len(results.shared), len(results.candidates)) == (board.SHARED, board.CANDIDATES)
    assert len(results.thread_ids) == board.THREADS
    assert results.site(1 << 31) == results.sites[0]


def test_modules_are_named_by_the_hash_of_their_path() -> None:
    assert module_hash("") == 0xCBF29CE484222325
    assert module_hash("a") == 0xAF63DC4C8601EC8C  # as FNV-1a is defined
