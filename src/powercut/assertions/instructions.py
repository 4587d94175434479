"""What an instruction of x86-64 does to memory, from its text in AT&T syntax: stores, flushes, fences.

Before: one statement of assembler, without labels and comments. After: an `Effect`, or None for what does not concern
persistent memory. Stacks (%rsp, %rbp as a frame), thread-local and global variables are none: they are named by other
registers than a pointer.
"""

from __future__ import annotations

import re

from powercut.quick_dataclass import dataclass

PREFIXES = frozenset((
    "lock", "rep", "repe", "repz", "repne", "repnz", "data16", "addr32", "notrack", "xacquire", "xrelease",
    "rex", "rex64", "rex.w", "bnd", "{vex}", "{evex}",
))  # fmt: skip
_SUFFIX = {"b": 1, "w": 2, "l": 4, "q": 8}
_WIDTH = {"x": 16, "y": 32, "z": 64}  # of %xmm, %ymm, %zmm
_GENERAL = frozenset((
    "mov", "add", "sub", "and", "or", "xor", "adc", "sbb", "inc", "dec", "neg", "not", "sal", "shl", "shr",
    "sar", "rol", "ror", "rcl", "rcr", "xchg", "xadd", "cmpxchg", "bts", "btr", "btc", "shld", "shrd", "pop",
    "movbe", "movnti",
))  # fmt: skip
_VECTOR = re.compile(r"v?mov(ap[sd]|up[sd]|dq[au](8|16|32|64)?|nt(dq|ps|pd))")
_EXACT = {
    "movss": 4, "movsd": 8, "movd": 4, "movlps": 8, "movhps": 8, "movlpd": 8, "movhpd": 8, "movntq": 8, "extractps": 4,
    "pextrb": 1, "pextrw": 2, "pextrd": 4, "pextrq": 8, "stmxcsr": 4, "extractf128": 16, "extracti128": 16,
    "extractf32x4": 16, "extracti32x4": 16, "extractf64x2": 16, "extracti64x2": 16, "extractf32x8": 32,
    "extracti32x8": 32, "extractf64x4": 32, "extracti64x4": 32, "cmpxchg8b": 8, "cmpxchg16b": 16,
    "kmovb": 1, "kmovw": 2, "kmovd": 4, "kmovq": 8, "fsts": 4, "fstps": 4, "fstl": 8, "fstpl": 8, "fstpt": 10,
    "fists": 2, "fistps": 2, "fistl": 4, "fistpl": 4, "fistpll": 8, "fistpq": 8, "fisttps": 2, "fisttpl": 4,
    "fisttpll": 8, "fnstcw": 2, "fnstsw": 2, "fstcw": 2, "fstsw": 2,
}  # fmt: skip
_NARROWING = re.compile(r"vpmov(?:u?s)?(wb|dw|qd|db|qw|qb)")
_PART = {"wb": 2, "dw": 2, "qd": 2, "db": 4, "qw": 4, "qb": 8}
# Memory as the last operand is written to, except by these.
_READERS = re.compile(
    r"(cmp|test|push|call|jmp|nop|i?mul|i?div|bt)[bwlq]?|j\w+|prefetch\w*|v?ldmxcsr|f(?!n?st|ist|n?save)\w+|cldemote"
    r"|f?xrstor\w*|f?xsave\w*|l[gi]dt|lldt|ltr|lmsw|verr|verw|invlpg\w*|endbr64|ret[q]?|loop\w*"
)
_FLUSHES = frozenset(("clwb", "clflush", "clflushopt"))
_FENCES = frozenset(("sfence", "mfence"))
_STRING = re.compile(r"(stos|movs)([bwlq])")
_MEMORY = re.compile(
    r"(?P<segment>%[defgs]s:)?(?P<offset>[^()%]*)\((?P<base>%\w+)?(?:,\s*(?P<index>%\w+))?(?:,\s*\d)?\)"
)
_COPIES = {
    **dict.fromkeys(("memcpy", "memmove", "memset", "mempcpy", "strncpy", "stpncpy"), "copy"),
    **dict.fromkeys(("bzero", "explicit_bzero"), "zero"),
    **dict.fromkeys(("strcpy", "stpcpy"), "string"),
}
_CALL = re.compile(r"\*?(?P<name>[A-Za-z_]\w*)(?:@PLT|@GOTPCREL\(%rip\))?")
_REGISTERS = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What must be recorded: before the instruction, or (a compare and exchange) after it if it succeeded.

    Attributes:
        name: of the entry in instrument/entries.S: store_8, nt_16, flush, fence, locked_8, copy ...
        operand: the memory, as in the instruction; empty if it is at %rdi, or there is none.
        succeeds: the entry to record after the instruction if the zero flag is set.
    """

    name: str
    operand: str = ""
    succeeds: str = ""


class UnknownStoreError(Exception):
    """An instruction that writes to memory, how much is not known here."""


def effect_of(prefixes: list[str], mnemonic: str, operands: list[str], *, frame: bool) -> Effect | None:
    """What one instruction does.

    Args:
        prefixes, mnemonic, operands: its parts, as `split_operands` gives them.
        frame: %rbp is the frame of this function, so what it points to is on the stack.

    Raises:
        UnknownStoreError: it writes where persistent memory may be, but how much?
    """
    if mnemonic in _FENCES:
        return Effect("fence")
    string = _STRING.fullmatch(mnemonic)
    if string and all("(" in operand or operand.startswith("%") for operand in operands) and len(operands) != 1:
        width = _SUFFIX[string[2]]
        return Effect(f"repeat_{width}" if prefixes else f"store_{width}")
    if mnemonic in ("call", "callq", "jmp", "jmpq"):
        return _effect_of_call(operands)
    if mnemonic in ("maskmovdqu", "vmaskmovdqu"):
        return Effect("nt_16")
    target = operands[-1].partition("{") if operands else ("", "", "")
    memory = _MEMORY.fullmatch(target[0].strip())
    if target[1] and memory is not None:
        raise UnknownStoreError(mnemonic)  # which bytes is said by a mask
    if mnemonic.startswith("xchg") and memory is None and operands:
        operands = operands[::-1]  # either operand may be the memory
        memory = _MEMORY.fullmatch(operands[-1])
    if memory is None:
        return None
    locked = "lock" in prefixes or mnemonic.startswith("xchg")
    if not _may_be_persistent(memory, frame):
        return Effect("fence") if locked else None
    return _effect_on(mnemonic, operands, locked=locked)


def _effect_on(mnemonic: str, operands: list[str], *, locked: bool) -> Effect | None:
    operand = operands[-1]
    if mnemonic in _FLUSHES:
        return Effect("flush", operand)
    if _READERS.fullmatch(mnemonic):
        return None
    size = _size(mnemonic, operands)
    if size is None:
        raise UnknownStoreError(mnemonic)
    if mnemonic.startswith("cmpxchg"):
        return Effect("fence" if locked else "", operand, succeeds=f"store_{size}")
    kind = "locked" if locked else "nt" if "movnt" in mnemonic else "store"
    return Effect(f"{kind}_{size}", operand)


def _may_be_persistent(memory: re.Match[str], frame: bool) -> bool:
    base = memory["base"]
    if memory["segment"] or base is None or not base.startswith("%r"):
        return False
    return base not in ("%rsp", "%rip") and not (frame and base == "%rbp")


def _effect_of_call(operands: list[str]) -> Effect | None:
    call = _CALL.fullmatch(operands[0]) if operands else None
    if call is None:
        return None
    name = call["name"]
    checked = re.fullmatch(r"__(\w+)_chk", name)
    entry = _COPIES.get(checked[1] if checked else name)
    return Effect(entry) if entry else None


def _size(mnemonic: str, operands: list[str]) -> int | None:
    """How many bytes are written."""
    if mnemonic.startswith("set"):
        return 1
    plain = mnemonic.removeprefix("v")
    vectors = [operand for operand in operands[:-1] if re.match(r"%[xyz]mm", operand)]
    if _VECTOR.fullmatch(mnemonic):
        return _WIDTH[vectors[0][1]] if vectors else None
    narrowing = _NARROWING.fullmatch(mnemonic)
    if narrowing and vectors:
        return _WIDTH[vectors[0][1]] // _PART[narrowing[1]]
    if mnemonic == "vcvtps2ph" and vectors:
        return _WIDTH[vectors[0][1]] // 2
    if plain == "movq" and vectors:
        return 8
    if plain in _EXACT:
        return _EXACT[plain]
    if mnemonic[:-1] in _GENERAL and mnemonic[-1] in _SUFFIX:
        return _SUFFIX[mnemonic[-1]]
    if mnemonic in _GENERAL:
        return next((_register_size(operand) for operand in operands[:-1] if operand.startswith("%")), None)
    return None


def _register_size(name: str) -> int:
    if re.fullmatch(r"%r\d+(b|w|d)", name):
        return {"b": 1, "w": 2, "d": 4}[name[-1]]
    if name.startswith("%r"):
        return 8
    if name.startswith("%e"):
        return 4
    return 1 if name.endswith(("l", "h")) else 2


def split_operands(text: str) -> list[str]:
    """The operands of an instruction: at commas that are in no parentheses, without spaces around them."""
    operands = re.split(r",(?![^(]*\))", text) if text.strip() else []
    return [operand.strip() for operand in operands]


def effect_of_bytes(code: list[int]) -> Effect | None:
    """The same for a flush or fence that is written as bytes, since its assembler did not know it."""
    extended = bool(code) and code[0] == 0x66
    code = code[1:] if extended else code
    high = bool(code) and code[0] == 0x41  # the registers from r8 on
    code = code[1:] if high else code
    if code[:2] != [0x0F, 0xAE] or len(code) < 3:
        return None
    way, operation, register = code[2] >> 6, code[2] >> 3 & 7, code[2] & 7
    if way == 3:
        return Effect("fence") if operation in (6, 7) and not extended else None
    if way > 1 or register in (4, 5) or (operation, extended) not in ((7, True), (7, False), (6, True)):
        return None
    name = f"r{8 + register}" if high else _REGISTERS[register]
    offset = str(int.from_bytes(bytes(code[3:4]), signed=True)) if way == 1 else ""
    return Effect("flush", f"{offset}(%{name})")
