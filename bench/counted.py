"""What judging a state costs in instructions and system calls: figures that no other work on the machine changes.

Before: Valgrind and its headers are installed. After: for each shape of `rates.py`, how many thousand instructions and
how many system calls one more state takes, of the engine and one worker together, in user space. The difference of many
states and few counts, so that starting does not. The kernel's own work shows as calls only; what a call costs is for
CPU time to tell.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kit import HERE, Broken, compile_c, run
from rates import SHAPES, Arena

FEW, MANY = 100, 500
_TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)
_TRIGGER = re.compile(r"^desc: Trigger: Client Request: (.+)$", re.MULTILINE)
_MARK = re.compile(r"^\*\*\d+\*\* mark (.+)$", re.MULTILINE)
_CALL = re.compile(r"SYSCALL\[\d+,\d+\]\(")


def counted(space: Path) -> Iterator[tuple[str, float]]:
    """The figures, by name; names tell the version of Python, whose instructions are most of it."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Broken("there is no valgrind")
    traces = [str(_recorded(space, Arena.make(space / shape.name, shape), shape.name)) for shape in SHAPES]
    library = compile_c("mark.c", space, "-shared", "-fPIC")
    counts = space / "counts"
    counts.mkdir()
    callgrind = [valgrind, "--tool=callgrind", f"--callgrind-out-file={counts}/out.%p", f"--log-file={counts}/log.%p"]
    program = [sys.executable, str(HERE / "counted_judging.py"), str(library), str(space), str(FEW), str(MANY)]
    command = [*callgrind, "--trace-syscalls=yes", *program, *traces]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": "0"}, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise Broken(f"judging under callgrind failed: {done.stderr.decode('utf-8', 'replace')[-2000:]}")
    instructions, calls = _told(counts)
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    for shape in SHAPES:
        for what, of, unit in (("thousand instructions", instructions, 1000), ("system calls", calls, 1)):
            more = of[f"{shape.name} {MANY}"] - of[f"{shape.name} {FEW}"]
            yield f"{what} a state, {shape.name}, {python}", more / (MANY - FEW) / unit


def _recorded(space: Path, arena: Arena, name: str) -> Path:
    trace = space / f"{name}.trace"
    record = [sys.executable, "-m", "powercut", "record", "--dir", str(arena.folder), "-o", str(trace)]
    run([*record, "--", *arena.workload], cwd=space)
    return trace


def _told(counts: Path) -> tuple[Counter[str], Counter[str]]:
    """Instructions and system calls by mark: those of the main process, and of its children that ended before it.

    A child starts with what its parent had counted since the mark, which is the same for few states and many.
    """
    instructions: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    children = {log.suffix: log.read_text("utf-8", "replace") for log in counts.glob("log.*")}
    (main,) = (pid for pid, log in children.items() if _MARK.search(log))
    _, *marked = _MARK.split(children.pop(main))  # mark, what follows, mark, what follows ...
    before = dict(zip(marked[2::2], marked[1::2], strict=False))
    ended, called = 0, 0
    for path in sorted(counts.glob("out.*"), key=lambda path: path.stat().st_mtime_ns):
        text = path.read_text()
        ended += int(_TOTALS.findall(text)[-1])
        called += len(_CALL.findall(children.pop(path.suffix, "")))
        if trigger := _TRIGGER.search(text):
            mark = trigger.group(1)
            instructions[mark] += ended
            calls[mark] += called + len(_CALL.findall(before.get(mark, "")))
            ended, called = 0, 0
    return instructions, calls
