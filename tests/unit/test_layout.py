"""trace/layout.py says what native/trace_format.h says: every name, number, size and offset, as compiled."""

from __future__ import annotations

import re
import shutil
import subprocess
from enum import IntEnum, IntFlag
from pathlib import Path

import numpy as np
import pytest

from powercut.trace import layout

HEADER = Path(__file__).resolve().parents[2] / "native" / "trace_format.h"
TEXT = HEADER.read_text()
ENUMS: dict[str, type[IntEnum | IntFlag]] = {
    "pc_extent_kind": layout.ExtentKind,
    "pc_event_kind": layout.Kind,
    "pc_event_flag": layout.Flag,
    "pc_channel": layout.Channel,
    "pc_memory_kind": layout.MemoryKind,
    "pc_flush": layout.Flush,
    "pc_fence": layout.Fence,
    "pc_effect": layout.Effect,
    "pc_order": layout.Order,
    "pc_table_kind": layout.TableKind,
}
PREFIXES = (
    *("PC_EXTENT_", "PC_FLAG_", "PC_CHANNEL_", "PC_TABLE_", "PC_MEMORY_", "PC_FLUSH_", "PC_FENCE_", "PC_EFFECT_"),
    *("PC_ORDER_", "PC_"),
)
STRUCTS = {
    "pc_event": layout.EVENT,
    "pc_entry": layout.ENTRY,
    "pc_extent_header": layout.EXTENT_HEADER,
    "pc_frame": layout.FRAME,
    "pc_memory": layout.MEMORY,
}
OTHER_NAMES = {"reserved": "rest"}  # what Python calls a field of the header


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def enum_in_header(name: str) -> dict[str, int]:
    body = re.search(rf"enum {name} \{{(.*?)\}}", without_comments(TEXT), re.DOTALL)
    assert body is not None, name
    members = re.findall(r"(\w+)\s*=\s*(\d+)", body[1])
    assert len(members) == body[1].count("="), "a value that this test cannot read"
    return {next(m.removeprefix(p) for p in PREFIXES if m.startswith(p)): int(value) for m, value in members}


def fields_in_header(name: str) -> list[str]:
    body = re.search(rf"struct {name} \{{(.*?)\}};", without_comments(TEXT), re.DOTALL)
    assert body is not None, name
    return re.findall(r"(\w+)(?:\[\d+\])?;", body[1])


@pytest.mark.parametrize("name", ENUMS)
def test_enums_have_the_same_members(name: str) -> None:
    assert {member.name: member.value for member in ENUMS[name]} == enum_in_header(name)


def test_every_enum_and_struct_of_the_header_is_known() -> None:
    text = without_comments(TEXT)
    assert set(re.findall(r"enum (\w+)\s*\{", text)) == {*ENUMS, "pc_frame_kind"}
    assert set(re.findall(r"struct (\w+)\s*\{", text)) == {*STRUCTS, "pc_file_header", "pc_pycode"}


def test_constants() -> None:
    found = dict(re.findall(r"#define (PC_\w+)\s+(\S+)", without_comments(TEXT)))
    assert found["PC_TRACE_MAGIC"] == f'"{layout.TRACE_MAGIC.decode()}"'
    assert int(found["PC_TRACE_VERSION"].rstrip("u")) == layout.TRACE_VERSION
    assert int(found["PC_EXTENT_MAGIC"].rstrip("u"), 16) == layout.EXTENT_MAGIC


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_sizes_and_offsets_are_those_of_the_compiler(tmp_path: Path) -> None:
    expected: dict[str, tuple[int, int]] = {}
    lines = []
    for name, dtype in STRUCTS.items():
        expected[name] = (dtype.itemsize, 0)
        lines.append(f'printf("{name} %zu 0\\n", sizeof(struct {name}));')
        for field in fields_in_header(name):
            assert dtype.fields is not None
            kind, offset = dtype.fields[OTHER_NAMES.get(field, field)][:2]
            expected[f"{name}.{field}"] = (kind.itemsize, offset)
            member = f"((struct {name} *)0)->{field}"
            lines.append(f'printf("{name}.{field} %zu %zu\\n", sizeof({member}), offsetof(struct {name}, {field}));')
    sizes = {"pc_file_header": layout.HEADER_SIZE, "pc_extent_header": layout.EXTENT_HEADER_SIZE}
    for name, size in sizes.items():
        expected[f"{name} size"] = (size, 0)
        lines.append(f'printf("{name} size %zu 0\\n", sizeof(struct {name}));')
    source = tmp_path / "probe.c"
    includes = f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\n'
    source.write_text(includes + "int main(void) {\n" + "\n".join(lines) + "\n}\n")
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", tmp_path / "probe", source], check=True)
    said = subprocess.run([tmp_path / "probe"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in said.splitlines():
        name, size, offset = line.rsplit(" ", 2)
        found[name] = (int(size), int(offset))
    assert found == expected


def test_all_numbers_are_little_endian() -> None:
    for dtype in STRUCTS.values():
        assert dtype.fields is not None
        for kind, *_ in dtype.fields.values():
            assert kind.kind == "V" or kind == np.dtype(kind).newbyteorder("<")
