"""What is stored to: from debug information where it is sure, from addresses elsewhere."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from powercut.states.behaviors.debug_types import fields_at
from powercut.states.behaviors.find import representatives_of
from powercut.states.behaviors.instances import instance_runs
from powercut.states.behaviors.known_types import known_types
from powercut.states.behaviors.layouts import Known, Layout, layout_of
from powercut.states.behaviors.operand import Operand, stored_to
from powercut.states.behaviors.operations import operations_of
from tests.unit.test_behaviors import Program, parts_in

RAX, RCX, RBX, RBP, RSI, RDI, R12, R13 = 0, 1, 3, 5, 6, 7, 12, 13


@pytest.mark.parametrize(
    ("code", "operand"),
    [
        ("48 89 50 40", Operand(RAX, 0x40)),  # mov %rdx,0x40(%rax)
        ("c6 07 01", Operand(RDI, 0)),  # movb $1,(%rdi)
        ("66 c7 46 fe 34 12", Operand(RSI, -2)),  # movw $0x1234,-2(%rsi)
        ("49 89 45 00", Operand(R13, 0)),  # mov %rax,0(%r13)
        ("49 89 04 24", Operand(R12, 0)),  # mov %rax,(%r12): a base that needs the second byte
        ("48 c7 83 00 02 00 00 01 00 00 00", Operand(RBX, 0x200)),  # movq $1,0x200(%rbx)
        ("0f 11 47 10", Operand(RDI, 16)),  # movups %xmm0,16(%rdi)
        ("f0 48 0f b1 4d 08", Operand(RBP, 8)),  # lock cmpxchg %rcx,8(%rbp)
        ("0f c3 08", Operand(RAX, 0)),  # movnti %ecx,(%rax)
        ("c5 fe 7f 41 20", Operand(RCX, 32)),  # vmovdqu %ymm0,32(%rcx)
        ("c4 c1 7e 7f 45 20", Operand(R13, 32)),  # vmovdqu %ymm0,32(%r13)
        ("c6 04 0f 01", None),  # movb $1,(%rdi,%rcx,1): an index
        ("48 89 05 00 00 00 00", None),  # relative to the instruction
        ("48 89 c3", None),  # to a register
        ("64 48 89 03", None),  # thread-local
        ("e8 00 00 00 00", None),  # call
        ("48", None),
        ("", None),
        ("62 f1 7c 48 11 07", None),  # AVX-512 is not known
    ],
)
def test_operands_are_those_of_the_instruction_set(code: str, operand: Operand | None) -> None:
    assert stored_to(bytes.fromhex(code)) == operand


PROGRAM = """
struct inner { long x; };
struct item { long key; long value; char valid; struct inner inner; };
typedef struct item item_t;
__attribute__((noinline)) void fill(item_t *const item, long key, int i, long *other) {
    item->key = key;
    item->value = key * 3;
    item->inner.x = 7;
    item->valid = 1;
    other[i] = key;
    other[1] = key;
}
int main(void) { struct item item; long other[4]; fill(&item, 5, 2, other); return (int)item.value - 15; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (shutil.which("gcc") and shutil.which("objdump")):
        pytest.skip("gcc and objdump are needed")
    folder = tmp_path_factory.mktemp("types")
    (folder / "fill.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "fill", folder / "fill.c"], check=True)
    return folder / "fill"


def stores_of(program: Path, function: str) -> list[int]:
    """The addresses of the instructions of a function that store through a register."""
    command = ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", str(program)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    parts = [line.split("\t") for line in lines if "\t" in line]
    return [int(part[0].strip(" :"), 16) for part in parts if part[1].startswith("mov") and part[1].endswith(")")]


def test_fields_come_from_debug_information(program: Path) -> None:
    addresses = stores_of(program, "fill")
    assert len(addresses) == 6
    found = fields_at(str(program), "", addresses)
    assert {field.offset for field in found.values()} == {0, 8, 16, 24}
    assert {(field.type, field.size) for field in found.values()} == {("item", 32)}  # and not where others points to


def test_other_builds_and_other_files_say_nothing(program: Path, tmp_path: Path) -> None:
    addresses = stores_of(program, "fill")
    assert fields_at(str(program), "0123456789", addresses) == {}
    assert fields_at(str(tmp_path / "gone"), "", addresses) == {}
    (tmp_path / "text").write_text("no program")
    assert fields_at(str(tmp_path / "text"), "", addresses) == {}
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    assert fields_at(str(stripped), "", addresses) == {}


@pytest.mark.parametrize("cut", [0.1, 0.4, 0.7, 0.95])
def test_damaged_files_do_no_harm(program: Path, tmp_path: Path, cut: float) -> None:
    content = program.read_bytes()
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content[: int(len(content) * cut)])
    assert isinstance(fields_at(str(damaged), "", stores_of(program, "fill")), dict)
    middle = int(len(content) * cut)
    damaged.write_bytes(content[:middle] + bytes(512) + content[middle + 512 :])
    assert isinstance(fields_at(str(damaged), "", stores_of(program, "fill")), dict)


def test_without_debug_information_that_is_said() -> None:
    run = Program("pool", size=1 << 16)
    run.store("put:1", 0)
    run.persist("put:2", 0)
    timeline = run.timeline()
    assert known_types(operations_of(timeline)).places == {}
    assert "the addresses of stores (for 1 places)" in representatives_of(timeline).heuristics


# Addresses


def layout(stores: list[tuple[int, int]], known: Known | None = None) -> Layout:
    """The layout of stores as (place, address), all of one thread and one file."""
    place, address = (np.array(column, np.int64) for column in zip(*stores, strict=True))
    following = np.append(np.arange(1, len(stores)), -1)
    return layout_of(place, np.zeros(len(stores), np.int64), address, following, known or {})


def test_fields_that_are_stored_to_one_after_the_other_are_of_one_instance() -> None:
    found = layout([(1, 0), (2, 8), (3, 16), (1, 480), (2, 488), (3, 496)])
    assert found.instance.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.offset.tolist() == [0, 8, 16, 0, 8, 16]


def test_types_that_grew_apart_are_joined_with_the_right_offsets() -> None:
    far = iter(range(1 << 20, 1 << 30, 10_000))
    pairs = [(1, 0, 2, 8)] * 3 + [(3, 16, 4, 24)] * 3 + [(2, 8, 4, 24)] * 2
    stores = [
        (place, base + at)
        for a, here, b, there in pairs
        for base in [next(far)]
        for place, at in ((a, here), (b, there))
    ]
    found = layout(stores)
    assert len(set(found.type.tolist())) == 1
    assert {(place, offset) for (place, _), offset in zip(stores, found.offset.tolist(), strict=True)} == {
        (1, 0),
        (2, 8),
        (3, 16),
        (4, 24),
    }


def test_places_that_store_to_the_same_address_store_to_the_same_field() -> None:
    found = layout([(1, 0), (2, 40), (9, 5000), (4, 0), (9, 7000), (4, 0)])
    assert found.type[0] == found.type[3] == found.type[5]
    assert found.instance[0] == found.instance[3]
    assert found.instance[2] != found.instance[0]


def test_elements_of_one_array_are_of_one_type_unless_it_may_be_just_the_alignment() -> None:
    def stored(stride: int) -> Layout:
        slots = [(1, 0), (5, 1), (1, 2), (5, 3), (1, 5), (5, 6), (1, 9), (5, 8)]
        return layout([(place, 1 << 20 | slot * stride) for place, slot in slots])

    assert len(set(stored(24 * 1000).type.tolist())) == 1
    assert len(set(stored(64).type.tolist())) == 2


def test_stores_into_an_instance_of_a_known_type_are_stores_to_its_fields() -> None:
    """Place 1 is known to store at offset 8 of a type of 32 bytes; place 2 stores through an index."""
    found = layout([(1, 108), (2, 124), (1, 208), (2, 212), (2, 132), (3, 99)], {1: (1, 8, 32)})
    assert found.offset.tolist()[:4] == [8, 24, 8, 12]
    assert found.instance[0] == found.instance[1] != found.instance[2] == found.instance[3]
    assert found.type[4] != found.type[0]  # one byte behind
    assert found.type[5] != found.type[0]


def test_known_types_split_what_addresses_would_join() -> None:
    """Two structures beside each other, always stored to together: only debug information tells them apart."""
    run = Program("pool", size=1 << 16)
    for base in (0, 4096):
        run.store("put:1", base)
        run.store("put:2", base + 64)
        run.persist("put:3", base, base + 64)
    operations = operations_of(run.timeline())
    first, second = (int(operations.tree.place[operations.stack[number]]) for number in (0, 1))
    joined, apart = instance_runs(operations), instance_runs(operations, {first: (1, 0, 8), second: (2, 0, 8)})
    assert joined is not None
    assert apart is not None
    assert sorted(parts_in(joined)) == [(0, 1), (2, 3)]
    assert sorted(parts_in(apart)) == [(0,), (1,), (2,), (3,)]
