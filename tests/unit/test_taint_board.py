"""The labels board: its layout is that of the headers, later ranges cover earlier ones, and sets survive damage."""

from __future__ import annotations

import mmap
import re
import shutil
import subprocess
from enum import IntEnum, IntFlag
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powercut.heal import board_layout as layout
from powercut.heal.taint import LabelRange, LabelsBoard, without_overlaps

FOLDER = Path(__file__).resolve().parents[2] / "native" / "grind" / "taint"
TEXT = re.sub(r"/\*.*?\*/", "", (FOLDER / "board.h").read_text() + (FOLDER / "sets.h").read_text(), flags=re.DOTALL)
STRUCTS = {
    "pc_label_node": layout.NODE,
    "pc_label_range": layout.RANGE,
    "pc_label_use": layout.USE,
    "pc_label_branch": layout.BRANCH,
    "pc_label_thread": layout.THREAD,
    "pc_label_fault": layout.FAULT,
    "pc_labels_board": layout.BOARD,
}
ENUMS: dict[str, type[IntEnum | IntFlag]] = {
    "pc_labels_flag": layout.BoardFlag,
    "pc_label_touch": layout.Touch,
    "pc_label_use_kind": layout.UseKind,
    "pc_label_fault_kind": layout.FaultKind,
}
CONSTANTS = {
    "PC_LABELS_MAGIC": layout.MAGIC,
    "PC_LABELS_VERSION": layout.VERSION,
    "PC_LABEL_THREADS": layout.THREADS,
    "PC_LABEL_BRANCHES": layout.BRANCHES,
    "PC_LABEL_USES": layout.USES,
    "PC_LABEL_FAULTS": layout.FAULTS,
    "PC_LABELS_PAGE": layout.HEADER_SIZE,
    "PC_LABELS_SOME": layout.SOME,
}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_the_layout_is_that_of_the_compiler(tmp_path: Path) -> None:
    expected = {f"sizeof(struct {name})": dtype.itemsize for name, dtype in STRUCTS.items()}
    for name, dtype in STRUCTS.items():
        body = re.search(rf"struct {name} \{{(.*?)\}};", TEXT, re.DOTALL)
        assert body is not None and dtype.fields is not None
        fields = re.findall(r"(\w+)(?:\[\w+\])?(?=[,;])", body[1])
        assert fields == list(dtype.fields)
        expected |= {f"offsetof(struct {name}, {field})": int(dtype.fields[field][1]) for field in fields}
    source = tmp_path / "probe.c"
    prints = "".join(f'printf("%zu\\n", {expression});\n' for expression in expected)
    includes = f'#include <stddef.h>\n#include <stdio.h>\n#include "{FOLDER}/board.h"\n#include "{FOLDER}/sets.h"\n'
    source.write_text(f"{includes}int main(void) {{\n{prints}}}\n")
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", tmp_path / "probe", source], check=True)
    said = subprocess.run([tmp_path / "probe"], capture_output=True, text=True, check=True).stdout
    assert dict(zip(expected, map(int, said.split()), strict=True)) == expected


def test_numbers_are_those_of_the_headers() -> None:
    found = {name: int(value.rstrip("u"), 0) for name, value in re.findall(r"#define (PC_\w+)\s+(\w+)", TEXT)}
    assert {name: found[name] for name in CONSTANTS} == CONSTANTS
    for name, enum in ENUMS.items():
        body = re.search(rf"enum {name} \{{(.*?)\}}", TEXT, re.DOTALL)
        assert body is not None
        members = {key.rsplit("_", 1)[1]: int(value) for key, value in re.findall(r"(\w+)\s*=\s*(\d+)", body[1])}
        assert {member.name: member.value for member in enum} == members


RANGES = st.lists(
    st.builds(LabelRange, st.integers(1, 2), st.integers(0, 40), st.integers(0, 20), st.integers(0, 9)), max_size=30
)


@given(RANGES)
def test_later_ranges_cover_earlier_ones_byte_for_byte(ranges: list[LabelRange]) -> None:
    plain = {(r.inode, at): r.number for r in ranges for at in range(r.offset, r.end)}
    left = without_overlaps(ranges)
    assert left == sorted(left)
    assert all(r.length > 0 for r in left)
    painted = [((r.inode, at), r.number) for r in left for at in range(r.offset, r.end)]
    assert len(painted) == len(plain)
    assert dict(painted) == plain


def test_a_board_holds_its_ranges_and_nothing_else() -> None:
    with LabelsBoard([LabelRange(7, 0, 8, 3)]) as board:
        assert not board.was_read
        assert (board.lost, board.refused, board.effects_left_out) == (0, 0, 0)
        assert (board.faults(), board.threads()) == ([], [])


def test_sets_that_the_program_damaged_are_cut_short() -> None:
    """Nodes that go in circles or out of the table end the walk; counts and kinds out of range are left out."""
    with LabelsBoard([], nodes=8) as board, mmap.mmap(board.descriptor, 0) as memory:
        header = np.frombuffer(memory, layout.BOARD, 1)
        nodes = np.frombuffer(memory, layout.NODE, 8, int(header["nodes"][0]))
        nodes[1] = (5, 0, 0)
        nodes[2] = (8, 1, 3)
        nodes[3] = (4, 2, 2**31)
        header["fault_count"] = 2**32 - 1
        header["faults"][0][0]["kind"] = 77
        assert board.labels(layout.SOME | 2) == {5}
        assert board.labels(2**32 - 1) == frozenset()
        assert board.faults() == []
        del header, nodes
