"""One program of the survey, as its folder says: programs/NAME/program.toml, beside its workload and its check.

A program that parses is whole: every finding that is expected has a verdict and a reason, and those that are true have
the text for their maintainers.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).resolve().parent / "programs"
WORK = Path(__file__).resolve().parents[1] / "build" / "survey"  # what the programs need, and what runs left
PYTHON = WORK / "venv" / "bin" / "python"  # of the programs: never of powercut

VERDICTS = ("true", "true on this model only", "documented behaviour", "false alarm", "unclear")
FOR_MAINTAINERS = VERDICTS[:2]  # what they would want to hear of
KEYS = {"title", "about", "install", "version", "judged", "documentation", "promise", "code", "prepare", "workload"}
KEYS |= {"check", "options", "budget", "random", "unexplained", "finding"}


class Malformed(Exception):
    """A program.toml that does not say what it must."""


@dataclass(frozen=True)
class Expected:
    """A finding that was judged: what it is (see comparison.identity), and what its reader made of it.

    Where nothing is ever synced, which of very many findings a run comes to is chance: what ends with * stands for all
    that begin so, and is not always found.
    """

    what: str
    verdict: str
    reason: str
    maintainers: str
    always: bool  # found in every run; otherwise a run may end before it


@dataclass(frozen=True)
class Program:
    """A program, what runs it, and what is expected of it."""

    name: str
    title: str
    about: str
    install: dict[str, str]  # by "apt", "pip" or "npm": the package
    judged: str  # the version whose findings were read
    documentation: tuple[str, ...]
    promise: str  # what the program's documentation says of power cuts, in a sentence
    version_command: tuple[str, ...]
    prepare: tuple[str, ...]
    workload: tuple[str, ...]
    check: tuple[str, ...]
    options: tuple[str, ...]
    budget: str
    random: tuple[str, ...]  # patterns of names that are others in each run
    unexplained: str  # why failing states may belong to no finding; empty: they may not
    findings: tuple[Expected, ...]

    def version(self) -> str | None:
        """What the program says of its version; None if it is not installed."""
        try:
            done = subprocess.run(self.version_command, capture_output=True, text=True, timeout=30, check=False)
        except OSError:
            return None
        return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None


def read_program(folder: Path, budget: str = "60s") -> Program:
    """The program of a folder; Malformed says what is wrong with its file."""
    try:
        said = tomllib.loads((folder / "program.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Malformed(f"{folder.name}: {error}") from error
    if unknown := said.keys() - KEYS:
        raise Malformed(f"{folder.name}: unknown: {', '.join(sorted(unknown))}")
    code = (folder / said.get("code", ".")).resolve()

    def command(name: str, needed: bool = True) -> tuple[str, ...]:
        if needed and not said.get(name):
            raise Malformed(f"{folder.name}: {name} is missing")
        return tuple(filled(word, code) for word in said.get(name, []))

    for name in ("title", "about", "judged", "documentation", "promise"):
        if not said.get(name):
            raise Malformed(f"{folder.name}: {name} is missing")
    return Program(
        name=folder.name,
        title=said["title"],
        about=said["about"],
        install=said.get("install", {}),
        judged=said["judged"],
        documentation=tuple(said["documentation"]),
        promise=said["promise"],
        version_command=command("version"),
        prepare=command("prepare", needed=False),
        workload=command("workload"),
        check=command("check"),
        options=command("options", needed=False),
        budget=said.get("budget", budget),
        random=tuple(said.get("random", [])),
        unexplained=said.get("unexplained", "").strip(),
        findings=tuple(read_expected(folder.name, one) for one in said.get("finding", [])),
    )


def filled(word: str, code: Path) -> str:
    """A word of a command: {python} is that of the survey's packages, {code} the folder of workload and check."""
    python = PYTHON if PYTHON.exists() else Path(sys.executable)
    places = {"{python}": str(python), "{code}": str(code), "{npm}": str(WORK / "npm" / "node_modules")}
    for name, place in places.items():
        word = word.replace(name, place)
    return word


def read_expected(program: str, said: dict[str, Any]) -> Expected:
    """One [[finding]] of a program."""
    if said.get("verdict") not in VERDICTS:
        raise Malformed(f"{program}: a verdict is one of {', '.join(VERDICTS)}, not {said.get('verdict')}")
    if not said.get("what") or not said.get("reason"):
        raise Malformed(f"{program}: a finding needs what and reason")
    if said["verdict"] in FOR_MAINTAINERS and not said.get("maintainers"):
        raise Malformed(f"{program}: a finding that is true needs the text for its maintainers")
    text = said.get("maintainers", "").strip()
    always = said.get("always", not said["what"].endswith("*"))
    return Expected(said["what"], said["verdict"], said["reason"].strip(), text, always)


def all_programs(budget: str = "60s") -> list[Program]:
    """Those of the survey, in the order of their names."""
    return [read_program(path.parent, budget) for path in sorted(PROGRAMS.glob("*/program.toml"))]
