"""What lines of Node, Python's pools and Java cost while a program is recorded: with agents against without.

CPU time counts; both take turns, and the least of each. A runtime that is not installed is left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from kit import Row, cpu_of_children, dearer, timed, turns, workspace

TURNS = 3
WRITES = 20_000
MOST_TIMES = 2.0
NODE_SYNC = f"""
const fs = require('fs'), fd = fs.openSync('data/log', 'w'), line = Buffer.alloc(64);
for (let i = 0; i < {WRITES}; i++) fs.writeSync(fd, line);
"""
NODE_POOL = f"""
const fs = require('fs').promises, line = Buffer.alloc(64);
const write = async (file) => {{ for (let i = 0; i < {WRITES // 4}; i++) await file.write(line); }};
Promise.all([0, 1, 2, 3].map((n) => fs.open('data/log' + n, 'w'))).then((files) => Promise.all(files.map(write)));
"""
PYTHON_POOL = f"""
import os
from concurrent.futures import ThreadPoolExecutor
log = os.open("data/log", os.O_WRONLY | os.O_CREAT)
with ThreadPoolExecutor(4) as pool:
    for _ in range({WRITES}):
        pool.submit(os.write, log, bytes(64))
"""
JAVA = f"""
class Log {{
    public static void main(String[] args) throws Exception {{
        try (var file = new java.io.FileOutputStream("data/log")) {{
            for (int i = 0; i < {WRITES}; i++) file.write(new byte[64]);
        }}
    }}
}}
"""


def measure() -> list[Row]:
    """Each way of writing, recorded with and without lines."""
    rows = []
    with workspace() as folder:
        for name, command in _programs(folder).items():
            contestants = {way: _cpu_of(command, folder, way) for way in ("--runtimes", "--no-runtimes")}
            found = {way: min(figures) for way, figures in turns(TURNS, contestants).items()}
            rows.append(
                dearer(
                    f"recording {WRITES:,} writes, {name}",
                    found["--runtimes"],
                    "s CPU",
                    "without lines",
                    found["--no-runtimes"],
                    times=MOST_TIMES,
                )
            )
    return rows


def _programs(folder: Path) -> dict[str, list[str]]:
    """What can run here."""
    (folder / "sync.js").write_text(NODE_SYNC)
    (folder / "pool.js").write_text(NODE_POOL)
    (folder / "pool.py").write_text(PYTHON_POOL)
    (folder / "Log.java").write_text(JAVA)
    programs = {"threads of a Python pool": [sys.executable, "pool.py"]}
    if shutil.which("node"):
        programs |= {"Node, synchronous": ["node", "sync.js"], "Node, promises": ["node", "pool.js"]}
    if shutil.which("javac"):
        subprocess.run(["javac", "Log.java"], cwd=folder, check=True)
        programs["Java"] = ["java", "-cp", ".", "Log"]
    return programs


def _cpu_of(command: list[str], folder: Path, way: str) -> Callable[[], float]:
    """Seconds of CPU that a recording takes, the program's included."""
    powercut = str(Path(sys.executable).with_name("powercut"))

    def once() -> float:
        shutil.rmtree(folder / "data", ignore_errors=True)
        (folder / "data").mkdir()
        recording = [powercut, "record", way, "--dir", "data", "-o", "trace", "--force", "--", *command]
        return cpu_of_children(lambda: timed(recording, cwd=folder))[1]

    return once
