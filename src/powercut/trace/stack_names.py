"""Names of call stacks that are the same in every run of the same programs.

Before: a stack of a trace, whose ids and addresses are those of one run. After: a number of 64 bits made of what does
not change, as native/ptrace/stacks/stable_name.h says; the tracer makes the same while it records, to know a call
again.
"""

from __future__ import annotations

import posixpath
import struct

from powercut.trace.layout import TableKind
from powercut.trace.reader import Trace

_FRAME = struct.Struct("<IIQ")
_CODE = struct.Struct("<6I")
_NATIVE, _PYTHON = 1, 2
_TOLD = {3: b"T", 4: b"A"}  # by a runtime: of the thread itself, of whoever asked it
_OURS = (b"recorder.py", b"_be_recorded")  # where powercut calls a function that it records
_BORDER = 1  # its name
_START, _PRIME, _BITS = 14695981039346656037, 1099511628211, (1 << 64) - 1


def stack_name(trace: Trace, stack: int) -> int:
    """The name of a stack by its id; 0 for none."""
    if not stack:
        return 0
    try:
        return _name(trace, stack)
    except (IndexError, struct.error) as error:
        raise trace.broken("a call stack refers to a missing entry") from error


def _name(trace: Trace, stack: int) -> int:
    data = trace.entry(TableKind.STACK, stack)
    frames = list(_FRAME.iter_unpack(data[: len(data) // _FRAME.size * _FRAME.size]))
    python = [frame for frame in frames if frame[0] == _PYTHON]
    name = _START
    for kind, ref, address in frames:
        if kind != _NATIVE:
            continue
        path, build_id = _module(trace, ref)
        if python and path.startswith((b"python", b"libpython")):
            break
        name = _mix(name, b"N" + (build_id or path) + b"\0" + _word(address) if ref else b"U")
    for _, ref, instruction in python:
        code = _code_name(trace, ref)
        if code == _BORDER:
            break
        name = _mix(name, b"P" + _word(code) + _word(instruction))
    for kind, ref, _ in frames:
        if kind in _TOLD:
            name = _mix(name, _TOLD[kind] + _word(_mix(_START, trace.entry(TableKind.TOLD, ref))))
    return name


def _module(trace: Trace, ref: int) -> tuple[bytes, bytes]:
    """The file's own name, and its build-id."""
    path, _, build_id = trace.entry(TableKind.MODULE, ref).partition(b"\0") if ref else (b"", b"", b"")
    return posixpath.basename(path), build_id


def _code_name(trace: Trace, ref: int) -> int:
    if not ref:
        return 0
    entry = trace.entry(TableKind.PYCODE, ref)
    _, first_line, file_length, function_length, _, _ = _CODE.unpack_from(entry)
    middle = _CODE.size + file_length
    file, function = posixpath.basename(entry[_CODE.size : middle]), entry[middle : middle + function_length]
    if (file, function) == _OURS:
        return _BORDER
    return _mix(_START, file + b"\0" + function + struct.pack("<I", first_line))


def _word(value: int) -> bytes:
    return struct.pack("<Q", value)


def _mix(name: int, data: bytes) -> int:
    """FNV-1a."""
    for byte in data:
        name = (name ^ byte) * _PRIME & _BITS
    return name
