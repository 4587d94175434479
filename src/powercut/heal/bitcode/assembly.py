"""Bitcode as LLVM's own assembly text.

Before: a file that the user names. After: its text, made by a tool of LLVM that is installed; assembly (`.ll`) is read
as it is. Bitcode changes with the versions of LLVM: each tool that is there is asked until one of them can read it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from powercut.errors import EnvironmentFailure, UsageError

_MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # bitcode, and bitcode in a wrapper
_NEWEST, _OLDEST = 40, 9  # versions of LLVM that are looked for by name
_PATIENCE = 300.0  # seconds


def assembly_of(path: Path) -> str:
    """The assembly of a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError("bad-bitcode", f"cannot read {path}: {error.strerror}.") from error
    if content.startswith(_MAGIC):
        return _disassembled(path)
    text = content.decode("utf-8", "replace")
    if not any(line.startswith(("define ", "declare ", "source_filename")) for line in text.splitlines()):
        hint = "Create it with clang -g -O0 -c -emit-llvm."
        raise UsageError("bad-bitcode", f"{path} is neither LLVM bitcode nor assembly.", hint)
    return text


def _disassembled(path: Path) -> str:
    refused = []
    for tool in _tools():
        try:
            done = subprocess.run([*tool, "-o", "-", "--", path], capture_output=True, timeout=_PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            refused.append(f"{tool[0]}: {error}")
            continue
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        refused.append(f"{tool[0]}: {said[0] if said else done.returncode}")
    if refused:
        hint = "It belongs to another version of LLVM, or is damaged. Pass the .ll file that its own llvm-dis creates."
        raise UsageError("bad-bitcode", f"no installed tool can read {path} ({'; '.join(refused)}).", hint)
    message = f"{path} is bitcode, but neither llvm-dis nor clang is installed."
    raise EnvironmentFailure("no-llvm", message, "Install llvm, or pass assembly: clang -g -O0 -S -emit-llvm.")


def _tools() -> Iterator[list[str]]:
    """What can disassemble bitcode, as installed: of several versions the newest first."""
    names = ["llvm-dis", *(f"llvm-dis-{version}" for version in range(_NEWEST, _OLDEST, -1))]
    yield from ([found] for name in names if (found := shutil.which(name)))
    if found := shutil.which("clang"):
        yield [found, "-S", "-emit-llvm", "-x", "ir"]
