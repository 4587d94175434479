"""Our decoders of x86-64, each of which knows just what it needs, say what a whole disassembler says.

Encodings are generated: all forms of the operand for the instructions that count, with and without prefixes, and random
bytes for all others. What capstone does not take for an instruction is not compared: no processor runs it.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import capstone
import pytest
from capstone import x86

from powercut.assertions.instructions import Effect, UnknownStoreError, effect_of, effect_of_bytes, split_operands
from powercut.states.behaviors.operand import Operand, stored_to

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 15
REGISTERS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)))
NARROW = ("eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", *(f"r{number}d" for number in range(8, 16)))
NONTEMPORAL = {"movnti", "movntps", "movntpd", "movntq", "movntdq", "movntss", "movntsd", "maskmovq", "maskmovdqu"}
NONTEMPORAL |= {"vmovntps", "vmovntpd", "vmovntdq", "vmaskmovdqu"}
FLUSHES = ["", "clflush", "clflushopt", "clwb"]  # as enum pc_flush of trace_format.h numbers them
FENCES = ["", "sfence", "mfence"]
PREFIXES = frozenset((0x26, 0x2E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))

# decode.c as it is, without Valgrind: of its headers it needs the names of five types.
TYPES = """
typedef unsigned char UChar; typedef char HChar; typedef unsigned char Bool; typedef int Int; typedef unsigned UInt;
typedef long long Long; enum { False, True };
"""
ENTRY = r"""
#include "decode.c"
void decode_all(const UChar *code, struct pc_instruction *out, unsigned long count) {
    for (unsigned long i = 0; i < count; i++)
        pc_decode(code + 32 * i, out + i);
}
"""


class Memory(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_int), ("index", ctypes.c_int), ("scale", ctypes.c_uint), ("displacement", ctypes.c_longlong),
        ("segment", ctypes.c_char), ("relative", ctypes.c_ubyte), ("truncated", ctypes.c_ubyte),
    )  # fmt: skip


class Instruction(ctypes.Structure):
    _fields_ = (
        ("flush", ctypes.c_uint), ("fence", ctypes.c_uint), ("nontemporal", ctypes.c_ubyte), ("locked", ctypes.c_ubyte),
        ("undefined", ctypes.c_ubyte), ("length", ctypes.c_uint), ("operand", Memory),
    )  # fmt: skip


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("decoder")
    (folder / "types.h").write_text(TYPES)
    (folder / "entry.c").write_text(ENTRY)
    folders = [f"-I{ROOT / 'native'}", f"-I{ROOT / 'native/grind'}"]
    flags = ["-DPOWERCUT_GRIND_CORE_H", "-include", str(folder / "types.h"), "-shared", "-fPIC", "-O1"]
    command = ["gcc", *flags, *folders, str(folder / "entry.c"), "-o", str(folder / "decoder.so")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "decoder.so"))


def decoded(decoder: ctypes.CDLL, codes: list[bytes]) -> ctypes.Array[Instruction]:
    out = (Instruction * len(codes))()
    decoder.decode_all(b"".join(code.ljust(32, b"\0") for code in codes), out, ctypes.c_ulong(len(codes)))
    return out


def disassembler(*, detail: bool) -> capstone.Cs:
    made = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    made.detail = detail
    return made


def asked(code: bytes) -> bytes:
    """The same without what makes capstone 5 forget other prefixes: REX.W, and 67 with 66.

    These say how wide a register and an address are, which is not compared here, or by itself.
    """
    count = next(at for at, byte in enumerate(code) if byte not in PREFIXES)
    prefixes, rest = code[:count], code[count:]
    if 0x66 in prefixes:
        prefixes = prefixes.replace(b"\x67", b"")
    return prefixes + (bytes([rest[0] & 0xF7]) + rest[1:] if rest[0] & 0xF8 == 0x48 and count else rest)


def behind(rng: random.Random, form: int) -> bytes:
    """A mod-r/m byte with what may follow it: scale, index and base, and a distance."""
    return bytes([form]) + rng.randbytes(12)


def counting_encodings() -> Iterator[bytes]:
    """Every form of the operand for flushes, fences, stores past the cache, exchanges and undefined instructions."""
    rng = random.Random(1)
    opcodes = [b"\x86", b"\x87"]
    opcodes += [bytes([0x0F, second]) for second in (0xAE, 0xC3, 0x2B, 0xE7, 0xF7, 0x0B, 0xB9, 0xFF)]
    prefixes = (b"", b"\x66", b"\xf2", b"\xf3", b"\x67", b"\x64", b"\x65\x66", b"\x66\x67", b"\x2e", b"\xf0")
    rexes = (b"", b"\x41", b"\x42", b"\x48", b"\x4f")
    for opcode, prefix, rex, form in itertools.product(opcodes, prefixes, rexes, range(256)):
        yield (prefix + rex + opcode + behind(rng, form))[:LONGEST]
    for opcode, form in itertools.product((0xC3, 0x2B, 0xE7, 0xF7, 0xAE), range(256)):
        for second in (0xF8, 0xF9, 0xFD, 0x78):
            yield (bytes([0xC5, second, opcode]) + behind(rng, form))[:LONGEST]
        for second, third in itertools.product((0xE1, 0xC1, 0xE2, 0xE3), (0x78, 0x79, 0x7D)):
            yield (bytes([0xC4, second, third, opcode]) + behind(rng, form))[:LONGEST]


def flushing_encodings() -> Iterator[bytes]:
    rng = random.Random(4)
    prefixes = (b"", b"\x66", b"\x67", b"\x66\x67", b"\x64", b"\x65\x66", b"\x2e")
    rexes = (b"", *(bytes([0x40 | bits]) for bits in range(8)))
    forms = [mode << 6 | register << 3 | rm for mode in range(3) for register in (6, 7) for rm in range(8)]
    for prefix, rex, form, _ in itertools.product(prefixes, rexes, forms, range(6)):
        yield (prefix + rex + b"\x0f\xae" + behind(rng, form))[:LONGEST]


def other_encodings() -> Iterator[bytes]:
    """Whatever else: none of it may be taken for one of those."""
    rng = random.Random(2)
    for opcode in range(256):
        for _ in range(20):
            yield (bytes([opcode]) + behind(rng, rng.randrange(256)))[:LONGEST]
            prefix = rng.choice((b"", b"\x66", b"\xf2", b"\xf3")) + rng.choice((b"", b"\x48"))
            yield (prefix + bytes([0x0F, opcode]) + behind(rng, rng.randrange(256)))[:LONGEST]
            yield (bytes([0x0F, rng.choice((0x38, 0x3A)), opcode]) + behind(rng, rng.randrange(256)))[:LONGEST]


@pytest.mark.parametrize(("encodings", "enough"), [(counting_encodings, 50_000), (other_encodings, 8_000)])
def test_the_memory_tracer_knows_what_counts(decoder: ctypes.CDLL, encodings: object, enough: int) -> None:
    """native/grind/decode.c: flushes, fences, stores past the cache, locked ones, undefined ones."""
    assert callable(encodings)
    codes, whole, kinds = list(encodings()), disassembler(detail=False), Counter[str]()
    for code, ours in zip(codes, decoded(decoder, codes), strict=True):
        found = next(whole.disasm_lite(asked(code), 0, 1), None)
        if found is None:
            continue
        _, length, text, operands = found
        locked, name = "lock" in text.split(), text.split()[-1]
        flush, fence = name if name in FLUSHES else "", name if name in FENCES else ""
        said = (FLUSHES[ours.flush], FENCES[ours.fence], bool(ours.nontemporal), bool(ours.undefined))
        assert (code.hex(), said) == (code.hex(), (flush, fence, name in NONTEMPORAL, name in ("ud0", "ud1", "ud2")))
        if flush:
            assert (code.hex(), ours.length) == (code.hex(), length + len(code) - len(asked(code)))
        if (name != "xchg" or "[" in operands) and (locked or code[0] != 0xF0):  # else it stores nothing, or is none
            assert (code.hex(), bool(ours.locked)) == (code.hex(), locked or name == "xchg")
        kinds["locked" if ours.locked else name if flush or fence or ours.nontemporal else "other"] += 1
    assert sum(kinds.values()) > enough
    if encodings is counting_encodings:
        assert min(kinds[name] for name in (*FLUSHES[1:], *FENCES[1:], "locked", "movntdq", "vmovntdq")) >= 5, kinds


def test_the_memory_tracer_flushes_the_line_that_is_meant(decoder: ctypes.CDLL) -> None:
    """The operand of each flush: base, index, scale, distance, segment, and how wide the address is."""
    whole, compared = disassembler(detail=True), 0
    codes = list(flushing_encodings())
    for code, ours in zip(codes, decoded(decoder, codes), strict=True):
        found = next(whole.disasm(code, 0, 1), None)
        if found is None or found.mnemonic not in FLUSHES:
            continue
        [operand] = found.operands
        names = NARROW if ours.operand.truncated else REGISTERS
        assert bool(ours.operand.truncated) == (found.addr_size == 4)
        base = "" if ours.operand.base < 0 else names[ours.operand.base]
        if ours.operand.relative:
            base = "eip" if ours.operand.truncated else "rip"
        index = "" if ours.operand.index < 0 else names[ours.operand.index]
        said = (base, index, ours.operand.displacement, ours.operand.segment.strip(b"\0").decode())
        named = [found.reg_name(number) or "" for number in (operand.mem.base, operand.mem.index)]
        named = ["" if name in ("riz", "eiz") else name for name in named]  # so that a base without index has a name
        segment = (found.reg_name(operand.mem.segment) or "").removesuffix("s").removeprefix("c")
        assert (code.hex(), said) == (code.hex(), (*named, operand.mem.disp, segment))
        assert not index or 1 << ours.operand.scale == operand.mem.scale
        compared += 1
    assert compared > 5_000


def test_flushes_and_fences_that_are_written_as_bytes() -> None:
    """`powercut cc`: all forms without an index, which is what headers write for assemblers of old."""
    whole, compared = disassembler(detail=True), Counter[str]()
    for prefix, rex, form, distance in itertools.product((b"", b"\x66"), (b"", b"\x41"), range(256), (0, 8, 0xF8)):
        code = prefix + rex + b"\x0f\xae" + bytes([form, distance])
        found = next(whole.disasm(code, 0, 1), None)
        said = effect_of_bytes(list(code))
        if found is None:
            continue
        wanted: Effect | None = None
        if found.mnemonic in FENCES[1:]:
            wanted = Effect("fence")
        elif found.mnemonic in FLUSHES and form >> 6 < 2 and form & 7 not in (4, 5):
            memory = found.operands[0].mem
            wanted = Effect("flush", f"{memory.disp if form >> 6 else ''}(%{found.reg_name(memory.base)})")
        assert (code.hex(), said) == (code.hex(), wanted)
        compared[wanted.name if wanted else ""] += 1
    assert compared["flush"] > 200 and compared["fence"] >= 2 and compared[""] > 300


def storing_encodings() -> Iterator[bytes]:
    rng = random.Random(3)
    for first, form in itertools.product(range(256), range(0, 256, 3)):
        rex = rng.choice((b"", b"", b"\x41", b"\x48", b"\x4b"))
        prefix = rng.choice((b"", b"", b"\x66", b"\xf3", b"\x64", b"\x67"))
        yield (prefix + rex + bytes([first]) + behind(rng, form))[:LONGEST]
        yield (prefix + rex + bytes([0x0F, first]) + behind(rng, form))[:LONGEST]
        yield (bytes([0xC5, rng.choice((0xF8, 0xF9, 0xFD)), first]) + behind(rng, form))[:LONGEST]
        yield (bytes([0xC4, rng.choice((0xE1, 0xC1, 0xA1)), 0x79, first]) + behind(rng, form))[:LONGEST]


def test_where_an_instruction_stores() -> None:
    """states/behaviors/operand.py: register and distance, wherever it says that it knows them."""
    whole, known = disassembler(detail=True), 0
    for code in storing_encodings():
        found = next(whole.disasm(code, 0, 1), None)
        if found is None:
            continue
        said = stored_to(code[: found.size])
        if said is None:
            continue
        [memory] = [operand.mem for operand in found.operands if operand.type == x86.X86_OP_MEM]
        assert (code.hex(), found.reg_name(memory.segment)) not in [(code.hex(), "fs"), (code.hex(), "gs")]
        base = REGISTERS.index(found.reg_name(memory.base))
        assert (code.hex(), said) == (code.hex(), Operand(base, memory.disp))
        assert found.reg_name(memory.index) in (None, "", "riz")
        known += 1
    assert known > 2_000


def vector_encodings() -> Iterator[bytes]:
    """Each opcode of each map with (%rdi) as its operand, with the prefixes that choose among instructions."""
    rng = random.Random(5)
    maps = (b"", b"\x0f", b"\x0f\x38", b"\x0f\x3a")
    prefixes = (b"", b"\x66", b"\xf2", b"\xf3", b"\x48", b"\x66\x48", b"\xf0", b"\xf0\x48")
    for opcode, form in itertools.product(range(256), range(7, 64, 8)):
        for opcodes, prefix in itertools.product(maps, prefixes):
            yield prefix + opcodes + bytes([opcode, form]) + rng.randbytes(8)
        for second in (0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD):
            yield bytes([0xC5, second, opcode, form]) + rng.randbytes(8)
        for second, third in itertools.product((0xE2, 0xE3), (0x79, 0x7D, 0xF9, 0xFD)):
            yield bytes([0xC4, second, third, opcode, form]) + rng.randbytes(8)
        for second, third, fourth in itertools.product((0xF1, 0xF2), (0x7C, 0x7D, 0xFD, 0x7E, 0xFE), (8, 0x28, 0x48)):
            yield bytes([0x62, second, third, fourth, opcode, form]) + rng.randbytes(8)


def test_stores_by_their_text_are_as_large_as_they_are() -> None:
    """`powercut cc`: size, past the cache or not, locked or not, of each store that it takes for one."""
    whole, sizes = disassembler(detail=True), Counter[str]()
    whole.syntax = capstone.CS_OPT_SYNTAX_ATT
    for code in vector_encodings():
        found = next(whole.disasm(code, 0, 1), None)
        memory = [] if found is None else [operand for operand in found.operands if operand.type == x86.X86_OP_MEM]
        if found is None or len(memory) != 1:
            continue
        *prefixes, name = found.mnemonic.split()
        try:
            effect = effect_of(prefixes, name, split_operands(found.op_str), frame=False)
        except UnknownStoreError:
            continue
        kind, _, size = (effect.succeeds or effect.name if effect else "").rpartition("_")
        if kind not in ("store", "nt", "locked"):
            continue
        assert (code.hex(), found.mnemonic, int(size)) == (code.hex(), found.mnemonic, memory[0].size)
        atomic = "lock" in prefixes or name.startswith("xchg")
        wanted = "nt" if "movnt" in name else "locked" if atomic and not name.startswith("cmpxchg") else "store"
        assert (code.hex(), kind) == (code.hex(), wanted)
        sizes[size] += 1
    assert min(sizes[size] for size in ("1", "2", "4", "8", "10", "16", "32", "64")) > 5, sizes
    assert sum(sizes.values()) > 3_000
