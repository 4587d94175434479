"""Readers of line information compared: right, and how fast?

    python bench/lines.py            the programs of tests/integration/test_lines_like_gdb.py
    python bench/lines.py PROGRAM    also how long 500 calls of a large program take

Right is what gdb says, except for the innermost line where the line table contradicts it; the test proves for each such
address that powercut has what the table has. Whoever is not on this machine is left out; `pip install symbolic` and
`apt-get install elfutils llvm gdb clang` bring them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from powercut.trace.lines import line_reader, read_lines
from tests.integration.test_lines_like_gdb import ask_gdb, build, calls, table

Places = list[tuple[str | None, int]]
Reader = Callable[[str, list[int]], list[Places]]
_MARK = re.compile(r"0x[0-9a-f]+")
_TURNS = 3
_ASKED = 500


def place(text: str) -> tuple[str | None, int]:
    """`file:line` or `file:line:column`; what is not known is None and 0."""
    match = re.match(r"(.*?):(\d+|\?)(:\d+)?( \(discriminator \d+\))?$", text)
    line = int(match[2]) if match and match[2].isdigit() else 0
    return (os.path.normpath(match[1]), line) if match and line and not match[1].startswith("??") else (None, 0)


def groups(output: str) -> Iterator[list[str]]:
    """The lines that follow each address."""
    found: list[str] | None = None
    for line in output.splitlines():
        if _MARK.fullmatch(line):
            if found is not None:
                yield found
            found = []
        elif found is not None and line:
            found.append(line)
    if found is not None:
        yield found


def tool(*command: str) -> Reader:
    """A program that answers with a function and a place, line by line."""

    def read(program: str, addresses: list[int]) -> list[Places]:
        text = "".join(f"{address:#x}\n" for address in addresses)
        done = subprocess.run([*command, program], input=text, capture_output=True, text=True, errors="replace")
        return [[place(line) for line in lines[1::2]] for lines in groups(done.stdout)]

    return read


def ours(program: str, addresses: list[int]) -> list[Places]:
    reader = line_reader()
    assert reader is not None, "powercut was built without libdw"
    found = read_lines(reader, program, addresses)
    return [[(line.file, line.line or 0) for line in found.get(address, [])] for address in addresses]


def with_symbolic(program: str, addresses: list[int]) -> list[Places]:
    from symbolic.debuginfo import Archive

    cache = next(Archive.open(program).iter_objects()).make_symcache()
    return [
        [(os.path.normpath(found.full_path) if found.line else None, found.line) for found in cache.lookup(address)]
        for address in addresses
    ]


def with_pyelftools(program: str, addresses: list[int]) -> list[Places]:
    """Only the rows of the line table: what it takes at least, in Python."""
    table.cache_clear()
    table(program)
    return [[] for _ in addresses]


def readers() -> dict[str, Reader]:
    found: dict[str, Reader] = {"powercut-lines (libdw)": ours}
    if shutil.which("addr2line"):
        found["addr2line (binutils)"] = tool("addr2line", "-a", "-f", "-i", "-e")
    if shutil.which("eu-addr2line"):
        found["eu-addr2line (libdwfl)"] = tool("eu-addr2line", "-a", "-f", "-i", "-e")
    if shutil.which("llvm-symbolizer"):
        found["llvm-symbolizer"] = tool("llvm-symbolizer", "--addresses", "--inlining", "-e")
    try:
        import symbolic  # noqa: F401

        found["symbolic"] = with_symbolic
    except ImportError:
        pass
    found["pyelftools (rows only)"] = with_pyelftools
    return found


def best(read: Reader, program: str, addresses: list[int]) -> float:
    """Seconds."""
    turns = []
    for _ in range(1 if read is with_pyelftools else _TURNS):
        began = time.perf_counter()
        read(program, addresses)
        turns.append(time.perf_counter() - began)
    return min(turns)


def main() -> None:
    found = readers()
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    with tempfile.TemporaryDirectory() as folder:
        right: dict[str, dict[str, list[int]]] = {name: {} for name in found}
        for compiler in compilers:
            here = Path(folder, compiler)
            here.mkdir()
            asked = {str(program): calls(program) for program in build(compiler, here)}
            answers = ask_gdb(asked, here)
            for program, addresses in asked.items():
                known = [(at, told) for at, told in zip(addresses, answers[program], strict=True) if told]
                reference = ours(program, [at for at, _ in known])
                version = f"{compiler}, DWARF {program[-1]}"
                for name, read in found.items():
                    if name.startswith("pyelftools"):
                        continue
                    got = read(program, [at for at, _ in known])
                    count = right[name].setdefault(version, [0, 0])
                    count[0] += sum(mine == truth for mine, truth in zip(got, reference, strict=False))
                    count[1] += len(known)
        small = str(Path(folder, compilers[0], "inlined-O0-5"))
        for name, read in found.items():
            shares = ", ".join(f"{version}: {100 * a / b:.1f} %" for version, (a, b) in right[name].items())
            print(f"{name:25} small {1000 * best(read, small, calls(Path(small))):7.1f} ms   {shares}")
    for program in sys.argv[1:]:
        addresses = calls(Path(program))
        some = addresses[:: max(1, len(addresses) // _ASKED)][:_ASKED]
        print(f"{len(some)} of {len(addresses)} calls of {program}")
        for name, read in found.items():
            print(f"{name:25} {1000 * best(read, program, some):7.1f} ms")


if __name__ == "__main__":
    main()
