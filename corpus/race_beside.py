"""The programs of race/beside: a plain crash bug beside a race that does no harm, in all pairs.

What must come out: the crash bug, as such, at the line that stores what it loses; and no race that is called a bug.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from harness import CORPUS, POWERCUT

from powercut.findings.finding import RACE_KINDS

SOURCE = CORPUS / "race" / "beside" / "program.c"
BUGS = ("half", "part", "promise", "log", "pair")
RACES = ("locked", "rebuilt", "repaired", "hint")
_LOST = re.compile(r"// LOST (\w+)$")
_RACES = {kind.value for kind in RACE_KINDS}


@dataclass(frozen=True)
class Pair:
    """One of the programs."""

    bug: str
    race: str

    @property
    def lost(self) -> set[int]:
        """The lines that store what the bug loses."""
        lines = enumerate(SOURCE.read_text().splitlines(), 1)
        return {number for number, line in lines if (mark := _LOST.search(line)) and mark[1] == self.bug}

    def look(self, folder: Path, budget: str) -> list[dict[str, Any]]:
        """What `powercut race` finds in it."""
        program, data = folder / "program", folder / "data"
        choice = [f"-DBUG=bug_{self.bug}", f"-DRACE=race_{self.race}"]
        flags = ["-std=gnu11", "-g", "-O1", "-pthread", "-Wall", "-Wno-unused-const-variable", "-Wno-unused-function"]
        subprocess.run(["gcc", *flags, *choice, "-o", str(program), str(SOURCE)], check=True)
        data.mkdir()
        subprocess.run([str(program), str(data), "recover"], check=True)  # the pool is made, and empty
        judges = ["--recovery", shlex.join([str(program), ".", "recover"])]
        judges += ["--check", shlex.join([str(program), ".", "verify"])]
        command = [str(POWERCUT), "race", "--dir", str(data), *judges, "--budget", budget, "--json", "report.json"]
        done = subprocess.run([*command, "--", str(program), str(data), "run"], cwd=folder, capture_output=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.decode("utf-8", "replace"))
        found: list[dict[str, Any]] = json.loads((folder / "report.json").read_text())["findings"]
        return found

    def complaints(self, findings: list[dict[str, Any]]) -> Iterator[str]:
        """What is wrong with that."""
        bugs = [finding for finding in findings if finding["severity"] == "error"]
        for bug in bugs:
            if bug["kind"] in _RACES:
                yield f"a race is called a bug: {bug['kind']}: {bug['message']}"
        lines = {place["line"] for bug in bugs if bug["kind"] not in _RACES for place in bug["locations"]}
        if not lines & self.lost:
            yield f"the crash bug is not named: lines {sorted(self.lost)}, but {sorted(lines)} are"


def pairs() -> list[Pair]:
    """All of them."""
    return [Pair(bug, race) for bug, race in product(BUGS, RACES)]
