"""`powercut cc`: calls the compiler so that programs record their own accesses to persistent memory.

The user's gcc or clang runs with the user's words, and a few in front of them: its assembler is ours (`assembler`), the
headers and libraries of powercut are found, and lines are known. What is asked for is what is made: objects, programs,
libraries, preprocessed text.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from powercut.assertions.build import compiler_flags, library_folder
from powercut.errors import EnvironmentFailure, UsageError
from powercut.quick_dataclass import dataclass
from powercut.record.remedies import install

_NO_LINKING = frozenset(("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r", "--precompile"))
_CANNOT = {
    "-static": "statically linked programs cannot be tracked",
    "-static-pie": "statically linked programs cannot be tracked",
    "-m32": "only 64-bit programs can be tracked",
    "-mx32": "only 64-bit programs can be tracked",
}
# Options of gcc and clang whose value is the next word: it is no file to compile.
_WITH_VALUE = frozenset((
    "-o", "-I", "-L", "-D", "-U", "-B", "-A", "-T", "-u", "-z", "-x", "-e", "-h", "-l", "-include", "-imacros",
    "-isystem", "-idirafter", "-iprefix", "-iquote", "-iwithprefix", "-iwithprefixbefore", "-isysroot",
    "-imultilib", "-MF", "-MT", "-MQ", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-mllvm",
    "-target", "-arch", "-aux-info", "-wrapper", "-specs", "--param", "-dumpbase", "-dumpbase-ext", "-dumpdir",
    "-gcc-toolchain",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compiler:
    """The user's compiler.

    Attributes:
        command: its words, as `ccache gcc`.
        is_clang: it has an assembler of its own inside, which must not be used.
    """

    command: tuple[str, ...]
    is_clang: bool


def find_compiler(words: str) -> Compiler:
    """The compiler of a name or command line."""
    command = tuple(shlex.split(words))
    if not command or shutil.which(command[0]) is None:
        hint = f"Install one ({install('gcc')}), or choose another with --compiler, POWERCUT_CC or POWERCUT_CXX."
        raise EnvironmentFailure("no-compiler", f"cannot find the compiler {words!r}.", hint)
    version = subprocess.run([*command, "--version"], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    return Compiler(command, is_clang=b"clang" in version.stdout)


def compile_tracked(compiler: Compiler, words: Sequence[str]) -> int:
    """Run the compiler with these words so that what it makes is tracked; its exit status."""
    for word in words:
        if word in _CANNOT:
            raise UsageError("cc-cannot", f"{_CANNOT[word]}: {word}.", "Leave it out, or use the plain compiler.")
    if not _has_input(words):
        return subprocess.run([*compiler.command, *words], check=False).returncode
    with tempfile.TemporaryDirectory(prefix="powercut-cc-") as folder:
        _put_assembler(Path(folder))
        flags = [*_compiling(compiler, folder), *(_linking() if _links(words) else [])]
        return subprocess.run([*compiler.command, *flags, *words], check=False).returncode


def _compiling(compiler: Compiler, folder: str) -> list[str]:
    """In front of the user's words, so that those win."""
    own = ["-fno-integrated-as", "-Wno-unused-command-line-argument"] if compiler.is_clang else []
    return [f"-B{folder}", "-g1", *own, *compiler_flags(), "-DPOWERCUT_AUTOMATIC"]


def _linking() -> list[str]:
    """In front of all libraries, since ours stands in front of theirs; and kept, though nobody may seem to need it."""
    libraries = library_folder()
    kept = ["-Wl,--push-state,--no-as-needed", "-lpowercut_cc", "-lpowercut", "-Wl,--pop-state"]
    return [f"-L{libraries}", f"-Wl,-rpath,{libraries}", *kept]


def _put_assembler(folder: Path) -> None:
    """An `as` that the compiler finds before its own."""
    words = shlex.join([sys.executable, "-I", "-m", "powercut.assertions.assembler"])
    script = folder / "as"
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o755)


def _links(words: Sequence[str]) -> bool:
    return not _NO_LINKING.intersection(words)


def _has_input(words: Sequence[str]) -> bool:
    """Whether there is anything to compile or link: `cc --version` is only passed on."""
    values = {number + 1 for number, word in enumerate(words) if word in _WITH_VALUE}
    files = (word for number, word in enumerate(words) if number not in values)
    return any(word == "-" or not word.startswith("-") for word in files)


def default_compiler(*, plus: bool) -> str:
    """What to use if the command line names none. CC and CXX may be this very command, and are not looked at."""
    variable, name = ("POWERCUT_CXX", "c++") if plus else ("POWERCUT_CC", "cc")
    return os.environ.get(variable) or name
