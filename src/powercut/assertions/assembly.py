"""Assembler text of a compiler, with a record made before each instruction that concerns persistent memory.

Before: the text as gcc or clang wrote it, inline assembly and hand-written files included. After: the same text, and
before each store through a pointer, non-temporal store, flush, fence and locked instruction a few lines that call an
entry of libpowercut. They change no register and no flag, keep clear of the red zone, and stand behind the `.loc` of
the instruction, so that their address is on its line.

This, and no pass of a sanitizer: those leave out the second of two stores to one place even with an inline flush in
between (gcc -fsanitize=kernel-address), or do not see copies of structures and atomics (clang's trace-stores).
"""

from __future__ import annotations

import re
from dataclasses import field

from powercut.assertions.instructions import (
    PREFIXES,
    Effect,
    UnknownStoreError,
    effect_of,
    effect_of_bytes,
    split_operands,
)
from powercut.quick_dataclass import dataclass

_RECORD = """\
\tleaq -128(%rsp), %rsp
\tpushq %rdi
{address}\tcall *pc_at_{name}@GOTPCREL(%rip)
\tpopq %rdi
\tleaq 128(%rsp), %rsp
"""
_SKIP = "918273645"  # a local label that nobody else has
# A jump to one of these is a call after which the caller's line would be lost.
_LAST_CALL = re.compile(r"jmpq?\s+(\*?pmem(?:obj)?_\w+(?:@PLT|@GOTPCREL\(%rip\))?)")
_MAY_CONCERN = re.compile(
    r"\(%|fence|mem|bzero|st[rp]n?cpy|\.byte|stos|movs[bwlq]\b|lock|rep|%rbp|_syntax|cfi_startproc|@function"
)
_LABELS = re.compile(r"(?:\s*[\w.$]+:)*")
_COMMENT = re.compile(r"/\*.*?\*/|#.*")
_DIRECTIVE = re.compile(r"\.(?!byte\b)[a-z_]+\b(?!:)")
_BYTES = re.compile(r"\.byte\s+((?:(?:0x[0-9a-fA-F]+|\d+)\s*,?\s*)+)")
_OLD_NAMES = {"clflush": "clflushopt", "xsaveopt": "clwb"}  # what they are behind a byte 0x66


@dataclass(slots=True)
class Rewriter:
    """Goes through one text.

    Attributes:
        unknown: instructions that write to memory and are not tracked, since how much is not known.
        intel: there is code in Intel syntax, which is not tracked.
    """

    unknown: set[str] = field(default_factory=set)
    intel: bool = False
    _frame: bool = False  # %rbp is the frame of the function
    _in_intel: bool = False
    _held: list[str] = field(default_factory=list)  # prefixes; what they belong to comes in the next statement

    def rewrite(self, text: str) -> str:
        """The whole text, with its records."""
        lines = [self._line(line) for line in text.splitlines(keepends=True)]
        return "".join([*lines, *(f"\t{prefix}\n" for prefix in self._held)])

    def _line(self, line: str) -> str:
        if self._in_intel and "[" in line:
            self.intel = True
        if not self._held and not _MAY_CONCERN.search(line):
            return line
        body = line.strip()
        if not body or body[0] == "#":
            return line
        if _DIRECTIVE.match(body):
            self._see_directive(body)
            return line
        if self._in_intel:
            return line
        held = bool(self._held)
        texts = [self._statement(statement) for statement in _statements(_COMMENT.sub(" ", line))]
        return "".join(text for text, _ in texts) if held or any(changed for _, changed in texts) else line

    def _see_directive(self, body: str) -> None:
        if body.startswith(".intel_syntax"):
            self._in_intel = True
        elif body.startswith(".att_syntax"):
            self._in_intel = False
        elif body.startswith(".cfi_startproc") or "@function" in body:
            self._frame = False

    def _statement(self, statement: str) -> tuple[str, bool]:
        """The text of a statement, with its record if it has one; and whether it is another one now."""
        labels = _LABELS.match(statement)
        start = labels[0] if labels else ""
        text = statement[len(start) :].strip()
        start = f"{start.strip()}\n" if start.strip() else ""
        if text in PREFIXES or _bytes_of(text) == [0x66]:
            self._held.append(text)
            return start, True
        whole = "".join(f"\t{part}\n" for part in (*self._held, text) if part)
        effect = self._effect(text)
        self._held.clear()
        last_call = _LAST_CALL.fullmatch(text)
        if last_call:
            return f"{start}\tsubq $8, %rsp\n\tcall {last_call[1]}\n\taddq $8, %rsp\n\tret\n", True
        if effect is None:
            return start + whole, False
        return start + _with_records(effect, whole), True

    def _effect(self, text: str) -> Effect | None:
        code = _bytes_of(text)
        if code is not None:
            return effect_of_bytes(code)
        words = text.split(None, 1)
        prefixes = [prefix for prefix in self._held if prefix in PREFIXES]
        while len(words) == 2 and words[0] in PREFIXES:
            prefixes.append(words[0])
            words = words[1].split(None, 1)
        if not words:
            return None
        mnemonic, operands = words[0], split_operands(words[1] if len(words) > 1 else "")
        if mnemonic in ("mov", "movq") and operands == ["%rsp", "%rbp"]:
            self._frame = True
        if len(prefixes) < len(self._held):  # a byte 0x66
            mnemonic = _OLD_NAMES.get(mnemonic, mnemonic)
        try:
            return effect_of(prefixes, mnemonic, operands, frame=self._frame)
        except UnknownStoreError:
            self.unknown.add(mnemonic)
            return None


def _with_records(effect: Effect, instruction: str) -> str:
    before = _record(effect.name, effect.operand) if effect.name else ""
    if not effect.succeeds:
        return before + instruction
    return f"{before}{instruction}\tjne {_SKIP}f\n{_record(effect.succeeds, effect.operand)}{_SKIP}:\n"


def _record(name: str, operand: str) -> str:
    return _RECORD.format(name=name, address=f"\tleaq {operand}, %rdi\n" if operand else "")


def _statements(line: str) -> list[str]:
    """A line's statements; those of a line with a string are left together."""
    return [line] if '"' in line else [statement for statement in line.split(";") if statement.strip()]


def _bytes_of(text: str) -> list[int] | None:
    match = _BYTES.fullmatch(text)
    return [int(number, 0) & 0xFF for number in re.findall(r"0x[0-9a-fA-F]+|\d+", match[1])] if match else None
