"""For tests of assertions: saved traces written by hand, and C programs of scenarios that say what must be found."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

from powercut.assertions.build import compiler_flags, linker_flags
from powercut.assertions.check import Checked

CODES = [
    "write",
    "write_nt",
    "flush",
    "fence",
    "ofence",
    "dfence",
    "dc_cvap",
    "dsb",
    "tx_begin",
    "tx_add",
    "tx_alloc",
    "tx_end",
    "tx_abort",
    "is_persistent",
    "first",
    "is_ordered_before",
    "checker_start",
    "checker_end",
    "scope_start",
    "exclude",
    "include",
    "pool",
    "unpool",
    "forget_ranges",
    "start",
    "end",
    "send_trace",
    "thread_end",
    "library_flush",
    "inside",
    "tx_add_if",
    "trace_end",
]
NUMBER = {name: number for number, name in enumerate(CODES, 1)}


def records(operations: list[tuple], first_site: int = 1) -> list[tuple[int, int, int, int]]:
    """(code, site, address, size) of operations as in `tests/models/assertion_twin.py`; each has a site of its own."""
    result = []
    for site, (name, *rest) in enumerate(operations, first_site):
        if name == "order":
            result.append((NUMBER["first"], site, rest[0], rest[1]))
            result.append((NUMBER["is_ordered_before"], site, rest[2], rest[3]))
        else:
            result.append((NUMBER[name], site, *(rest or (0, 0))))
    return result


def write_trace(path: Path, threads: list[list[tuple]]) -> Path:
    """A saved trace of threads; the place of an operation is file tN, line 1 + its position."""
    chunks, sites = [b"PCUTTRC1"], []
    for ring, operations in enumerate(threads):
        taken = records(operations, 1 + len(sites))
        chunks.append(struct.pack("<4I", ring, 1, len(taken), 0))
        for code, site, address, size in taken:
            chunks.append(struct.pack("<QQ", code | site << 8 | min(size, 0xFFFFFFFF) << 32, address))
        sites += [(ring, 1 + position) for position in range(len(operations))]
    names = b"\0" + b"".join(f"t{ring}\0".encode() for ring in range(len(threads)))
    starts = [names.index(f"t{ring}\0".encode()) for ring in range(len(threads))]
    chunks.append(struct.pack("<4I", 0xFFFFFFFF, 1 + len(sites), len(names), 0))
    chunks.append(bytes(24))
    chunks += [struct.pack("<4IQ", starts[ring], 0, line, 0, 0) for ring, line in sites]
    path.write_bytes(b"".join([*chunks, names]))
    return path


def write_records(path: Path, taken: list[tuple[int, int, int, int]], sites: int) -> Path:
    """A saved trace of the records of one thread; their sites are lines of the file t0."""
    chunks = [b"PCUTTRC1", struct.pack("<4I", 0, 1, len(taken), 0)]
    chunks += [struct.pack("<QQ", code | site << 8 | size << 32, address) for code, site, address, size in taken]
    chunks += [struct.pack("<4I", 0xFFFFFFFF, 1 + sites, 4, 0), bytes(24)]
    chunks += [struct.pack("<4IQ", 1, 0, line, 0, 0) for line in range(1, 1 + sites)]
    path.write_bytes(b"".join([*chunks, b"\0t0\0"]))
    return path


PROGRAMS = Path(__file__).parent / "assertion_programs"
_SCENARIO = re.compile(r"^(?:BARE_)?SCENARIO\((\w+)\)", re.MULTILINE)
_MARK = re.compile(r"(?:(\w+): )?(FAIL|WARN) ([a-z-]+)(?:/([a-z-]+))?")


def build(program: Path, folder: Path, *flags: str, compiler: str = "cc") -> Path:
    """Compile a program with assertions."""
    target = folder / program.stem
    libs = linker_flags(static="-static-pie" in flags)
    subprocess.run(
        [compiler, "-g", "-O1", *compiler_flags(), *flags, str(program), "-o", str(target), *libs], check=True
    )
    return target


def scenarios(program: str) -> list[str]:
    """Names of all scenarios of a program in tests/assertion_programs."""
    return _SCENARIO.findall((PROGRAMS / f"{program}.c").read_text())


def marks(program: str, scenario: str, model: str = "x86") -> set[tuple[int, str, str, str]]:
    """(line, FAIL or WARN, kind, why) of what must be found in a scenario, as its lines say."""
    expected, inside = set(), False
    for number, line in enumerate((PROGRAMS / f"{program}.c").read_text().splitlines(), 1):
        head = _SCENARIO.match(line)
        inside = head[1] == scenario if head else inside
        comment = line.rpartition("/*")[2] if inside else ""
        for only, severity, kind, why in _MARK.findall(comment):
            if only in ("", model):
                expected.add((number, severity, kind, why))
    return expected


def found(checked: Checked) -> set[tuple[int | None, str, str, str]]:
    """The same of a run."""
    return {
        (finding.locations[0].line, "FAIL" if finding.is_bug else "WARN", finding.pattern, finding.why)
        for finding in checked.findings
    }
