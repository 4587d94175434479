"""Build the corpus programs, run powercut on them and read its report; shared by demo.py and the integration tests."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

CORPUS = Path(__file__).resolve().parent
POWERCUT = Path(sys.executable).with_name("powercut")
COMPILERS = {".c": "gcc", ".cpp": "g++"}
TIMEOUT = 300  # seconds for one run of the tool, far above what any case needs


@dataclass(frozen=True)
class Location:
    """One call that a finding names."""

    file: str
    line: int
    function: str
    role: str  # "lost", "survived" or "acknowledged"


@dataclass(frozen=True)
class Finding:
    """One finding of the JSON report."""

    id: str
    kind: str
    message: str
    models: tuple[str, ...]
    locations: tuple[Location, ...]
    replay: str

    def at(self, role: str, file: str) -> set[int]:
        """The lines of a source file that this finding names in a role; "lost" may be "missing": not made yet."""
        roles = {role, "missing"} if role == "lost" else {role}
        return {place.line for place in self.locations if place.role in roles and Path(place.file).name == file}


@dataclass(frozen=True)
class Run:
    """What one `powercut test` said."""

    code: int
    output: str
    findings: tuple[Finding, ...]
    report: dict[str, object]


@dataclass(frozen=True)
class Case:
    """One known mistake: a folder under files/ with both twins, the check and what must come out."""

    folder: Path
    title: str
    language: str
    fs: tuple[str, ...]  # the buggy twin must be reported on each of these
    safe: tuple[str, ...]  # these forgive the mistake: the buggy twin is silent
    silent: tuple[str, ...]  # the fixed twin is silent
    kind: str

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def check(self) -> Path:
        """The recovery and check that judges a crash state."""
        return self.folder / "check.py"

    @property
    def other_role(self) -> str:
        """The role of the second location, besides "lost"."""
        return "acknowledged" if self.kind == "durability" else "survived"

    def source(self, twin: str) -> Path:
        """The program, "buggy" or "fixed"."""
        (path,) = self.folder.glob(f"{twin}.*")
        return path

    def seed(self, folder: Path) -> Path:
        """Make the data folder that the program starts with."""
        if (self.folder / "seed").is_dir():
            shutil.copytree(self.folder / "seed", folder)
        else:
            folder.mkdir()
        return folder


def cases() -> list[Case]:
    """All cases of files/, by name."""
    return [_read_case(path) for path in sorted((CORPUS / "files").glob("*/case.toml"))]


def _read_case(path: Path) -> Case:
    table = tomllib.loads(path.read_text())
    lists = {key: tuple(table[key]) for key in ("fs", "safe", "silent")}
    return Case(path.parent, table["title"], table["language"], kind=table["expected"]["kind"], **lists)


def marked(source: Path, marker: str) -> set[int]:
    """The lines that carry a marker in the comment at their end: LOST, SURVIVED or ACKED."""
    sign = "#" if source.suffix == ".py" else "//"
    lines = enumerate(source.read_text().splitlines(), 1)
    return {number for number, line in lines if marker in line.rpartition(f" {sign} ")[2].split()}


def build(source: Path, folder: Path, flags: Sequence[str] = ("-O1",)) -> list[str]:
    """Compile a program where its language needs it; returns the command that runs it."""
    if source.suffix == ".py":
        return [sys.executable, str(source)]
    program = folder / f"{source.parent.name}-{source.stem}"
    program.write_bytes(_compiled(source, tuple(flags)))
    program.chmod(0o755)
    return [str(program)]


@cache
def _compiled(source: Path, flags: tuple[str, ...]) -> bytes:
    """A program as the compiler makes it, once for all folders that want it."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        subprocess.run([COMPILERS[source.suffix], "-g", "-o", str(program), str(source), *flags], check=True)
        return program.read_bytes()


def check_command(check: Path, *arguments: str) -> str:
    """The command line of a check; without site packages it starts twice as fast."""
    return shlex.join([sys.executable, "-S", "-E", str(check), *arguments])


def lmdb_check() -> str:
    """The check of real/lmdb_rows.py, which needs one module of the site packages."""
    module = find_spec("lmdb")
    assert module is not None and module.origin is not None
    return check_command(CORPUS / "real" / "lmdb_check.py", str(Path(module.origin).parents[1]))


def powercut_test(
    workload: Sequence[str],
    check: str,
    data: Path,
    *,
    fs: Iterable[str] = (),
    options: Sequence[str] = (),
    inside: bool = False,
    quiet: bool = True,
) -> Run:
    """Run `powercut test` beside the data folder, or inside it, and read the report."""
    report = data.parent / "report.json"
    report.unlink(missing_ok=True)
    where = [] if inside else ["--dir", str(data)]
    model = ["--fs", ",".join(fs)] if fs else []
    command = [
        str(POWERCUT),
        "test",
        *where,
        *model,
        "--check",
        check,
        "--json",
        str(report),
        *options,
        "--",
        *workload,
    ]
    done = subprocess.run(
        command,
        cwd=data if inside else data.parent,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
        timeout=TIMEOUT,
    )
    table = json.loads(report.read_text()) if report.exists() else {}
    return Run(done.returncode, done.stdout or "", tuple(map(_finding, table.get("findings", []))), table)


def _finding(table: dict[str, object]) -> Finding:
    places = [Location(*(place[key] for key in ("file", "line", "function", "role"))) for place in table["locations"]]
    texts = [str(table[key]) for key in ("id", "kind", "message")]
    return Finding(*texts, models=tuple(table["models"]), locations=tuple(places), replay=str(table["replay"]))
