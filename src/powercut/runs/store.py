"""Saved runs: a folder for each, with the trace, the settings and the findings, so that any finding replays later.

  OUTPUT/runs/0001/trace        the recording
  OUTPUT/runs/0001/plan.json    how it is explored, before that begins (`plan`)
  OUTPUT/runs/0001/run.json     the report (documented JSON) and what replay needs
  OUTPUT/runs/0001/sources/     the files that findings name, as they were (`findings/sources`)
  OUTPUT/runs/0001/syncs.json   the table of its syncs, where they were weighed (documented JSON)
  OUTPUT/runs/0001/tried/ID/    the run in which the fix of one of its findings was tried: the same files

Runs are numbered; a run is written whole or not at all (a new file, synced, renamed into place).
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import stat
from pathlib import Path
from typing import Any

import msgspec

from powercut import __version__
from powercut.durable import new_file
from powercut.errors import EnvironmentFailure, UsageError
from powercut.findings.finding import Doubt, Finding, Location
from powercut.findings.sources import Sources, files_of
from powercut.lint.misuse import Misuse
from powercut.runs.older_runs import with_frames
from powercut.states.estimate import Estimate

FORMAT = 2  # 1 had call stacks as text
_READ = (1, FORMAT)
PLAN = "plan.json"  # of a run that has begun
SYNCS = "syncs.json"  # of a trace whose syncs were weighed
# Why a run tested nothing.
NO_BUDGET = "the budget ended before any state was tested. Give a larger --budget or --max-states"
NO_STATES = "the chosen strategies have no state in this trace. Choose others with --strategies"
MORE_TIME = "Give a larger --budget, or continue with powercut resume"  # where time ran out
TRIED = "tried"  # the folder of runs that tried fixes
NUMBER = r"\d{4,}"  # the name of a run's folder


class _Counted(msgspec.Struct):
    """What `SavedRun.states` may hold, as far as a report is made of it."""

    tested: int = 0
    equivalent: int = 0
    known: int = 0
    left: int | None = None
    total: int | None = None
    estimate: Estimate | None = None


class BehaviorCounts(msgspec.Struct, kw_only=True):
    """What representative testing made of the trace under one model: `Representatives.counts`, and by what."""

    model: str
    told_by: list[str]
    behaviors: int
    shapes: int
    groups: int
    new: int = 0
    reached: int = 0
    explored: int
    states: int
    in_parts: int
    with_whole_operations: int
    a_few_operations_at_a_time: int
    left_out: int
    functions_left_out: int


class SavedRun(msgspec.Struct, kw_only=True):
    """What run.json holds.

    Attributes:
        check: the check command; None for the built-in oracle, or a Python function.
        function: the name of the Python function that was the check.
        seconds: all that it took; `stages`: what each stage took, as far as it was part of it.
        behaviors: for each model, what representative testing found and cut.
        coverage: the failure points that the workload reached, and how many by which event.
        assertions: of a run of powercut check: operations, threads, how the program ended. Its findings are misuses.
        doubts: states of which the check did not say one thing, which replay shows.
        race: of a run of powercut race: executions, coverage, candidates, and what became of them.
    """

    format: int = FORMAT
    version: str = ""
    command: list[str] = []
    folder: str = ""
    check: list[str] | None = None
    function: str | None = None
    timeout: float = 10.0
    findings: list[Finding] = []
    misuses: list[Misuse] = []
    doubts: list[Doubt] = []
    states: dict[str, Any] = {}
    model: str = ""
    seconds: float = 0.0
    stages: dict[str, float] = {}
    coverage: dict[str, Any] = {}
    behaviors: list[BehaviorCounts] = []
    assertions: dict[str, Any] = {}
    race: dict[str, Any] = {}
    notes: list[str] = []
    interrupted: bool = False

    @property
    def places(self) -> list[Location]:
        """All places that it names."""
        of_findings = [location for finding in self.findings for location in finding.locations]
        return of_findings + [location for misuse in self.misuses for location in misuse.locations]

    @property
    def new_findings(self) -> list[Finding]:
        """Those that are wrong for sure and not in the baseline."""
        return [finding for finding in self.findings if finding.known is None and finding.severity == "error"]


class _Head(msgspec.Struct):
    """What every format of run.json has."""

    format: int = FORMAT
    version: str = ""


def covered(states: dict[str, Any]) -> int:
    """States about which something is known."""
    return sum(int(states.get(name) or 0) for name in ("tested", "known", "equal", "equivalent"))


def new_run_folder(output: Path) -> Path:
    """Make the folder of the next run."""
    runs = output / "runs"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        while True:
            numbers = [int(p.name) for p in runs.iterdir() if re.fullmatch(NUMBER, p.name)]
            path = runs / f"{max(numbers, default=0) + 1:04d}"
            try:
                path.mkdir()
            except FileExistsError:
                continue  # another run was faster
            return path
    except OSError as error:
        raise EnvironmentFailure(
            "output-unwritable",
            f"cannot create a folder for this run in {output}: {error.strerror}.",
            "Choose another folder with --output DIR.",
        ) from error


def new_trial_folder(run: Path, finding: str) -> Path:
    """Make the folder of a run in which the fix of a finding is tried."""
    tried = run / TRIED
    for number in itertools.count(1):
        folder = tried / (finding if number == 1 else f"{finding}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue  # it was tried before
        except OSError as error:
            why = f"cannot create a folder for this run in {run}: {error.strerror}."
            raise EnvironmentFailure("output-unwritable", why) from error
        break
    return folder


def name_of(folder: Path) -> str:
    """What a run is called: its number, or the number of the run whose finding it tried, and that finding."""
    if folder.parent.name == TRIED:
        return "/".join(folder.parts[-3:])
    return folder.name


def save_run(folder: Path, run: SavedRun) -> Path:
    """Write run.json, after the sources that it names."""
    Sources(folder).keep(files_of(run.places))
    path = folder / "run.json"
    write_durably(path, to_json(run))
    return path


def to_json(value: Any) -> bytes:
    """JSON, also of names that are not UTF-8: their odd bytes are written as escapes, and read back as they were."""
    text = json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file as powercut tells others to: write beside it, sync, rename, sync the directory."""
    try:
        target = path.resolve()  # a symbolic link stays one
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            target.write_bytes(content)  # a pipe or a device, which must not be replaced
        else:
            with new_file(target) as file:
                file.write(content)
    except OSError as error:
        raise EnvironmentFailure("output-unwritable", f"cannot write {path}: {error.strerror}.") from error


def load_run(path: Path) -> SavedRun:
    """Read a saved run."""
    try:
        content = (path / "run.json").read_bytes()
    except OSError as error:
        raise UsageError("no-run", f"there is no saved run in {path}: {error.strerror}.") from error
    head = _Head()
    try:
        values = json.loads(content)
        head = msgspec.convert(values, _Head)
        if head.format not in _READ:
            raise _other_format(path, head.format)
        with_frames(values)
        run = msgspec.convert(values, SavedRun)
        run.format = FORMAT
        msgspec.convert(run.states, _Counted)
        return run
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        hint = f"It was saved by powercut {head.version}." if head.version not in ("", __version__) else ""
        raise UsageError("broken-run", f"{path / 'run.json'} is not a saved run: {error}.", hint) from error


def is_run(path: Path) -> bool:
    """Whether a folder is that of a saved run."""
    try:
        load_run(path)
    except UsageError:
        return False
    return True


def _other_format(path: Path, number: int) -> UsageError:
    age = "a newer" if number > FORMAT else "an older"
    return UsageError(
        "other-run-format",
        f"{path} was saved by {age} powercut, in format {number}; this one reads format {FORMAT}.",
        f"Run powercut explore {shlex.quote(str(path / 'trace'))}, or use that powercut.",
    )


def saved_runs(output: Path) -> list[Path]:
    """The folders of all saved runs, the newest first."""
    return [folder for folder in numbered_runs(output) if (folder / "run.json").is_file()]


def numbered_runs(output: Path) -> list[Path]:
    """The folders of all runs, also of those that were stopped before they were saved, the newest first."""
    found = [path for path in output.glob("runs/*") if re.fullmatch(NUMBER, path.name)]
    return sorted(found, key=lambda path: int(path.name), reverse=True)


def find_run(output: Path, name: str | None = None) -> Path:
    """The folder of a run: the newest one, or the one of a number or path."""
    if name is None:
        runs = saved_runs(output)
        if not runs:
            raise UsageError("no-run", f"no saved run in {output}.", "Run powercut test first, or give --output DIR.")
        return runs[0]
    for folder in named_folders(output, name):
        if (folder / "run.json").is_file():
            return folder
    raise UsageError("no-run", f"there is no saved run {name} in {output}.", _what_there_is(output, name))


def _what_there_is(output: Path, name: str) -> str:
    """What to do with a folder that is not that of a finished run."""
    for folder in named_folders(output, name):
        if (folder / PLAN).is_file():
            return f"It was stopped early. Continue with: powercut resume {name}"
        if (folder / SYNCS).is_file():
            return "It holds only a table of syncs. For the table of a tested run: powercut syncs --trace RUN/trace."
    return ""


def named_folders(output: Path, name: str) -> list[Path]:
    """Where a run may be: a number is one of the saved ones, anything else may be a path."""
    return [output / "runs" / (name.zfill(4) if name.isdecimal() else name), Path(name)]


def find_finding(output: Path, name: str) -> tuple[Path, SavedRun, Finding]:
    """A finding by its id (or the first letters of it), in the newest run that has it; RUN/ID names the run."""
    run_name, _, wanted = name.rpartition("/")
    folders = [find_run(output, run_name)] if run_name else saved_runs(output)
    for folder in folders:
        try:
            run = load_run(folder)
        except UsageError:
            if run_name:
                raise
            continue  # broken, or of another powercut: a newer or older run may have it
        matching = [finding for finding in run.findings if finding.id.startswith(wanted)]
        if len({finding.id for finding in matching}) > 1:
            several = ", ".join(finding.id for finding in matching)
            raise UsageError("many-findings", f"{name!r} matches several findings: {several}.", "Give more letters.")
        if matching:
            return folder, run, matching[0]
    where = f"run {run_name}" if run_name else f"the saved runs of {output}"
    raise UsageError("no-finding", f"there is no finding {wanted!r} in {where}.", "List them with powercut show.")


def find_replayable(output: Path, name: str) -> tuple[Path, SavedRun, Finding | Doubt]:
    """A finding, or a state of which the check did not say one thing: RUN/doubt-1, or that of the newest run."""
    run_name, _, wanted = name.rpartition("/")
    if re.fullmatch(r"doubt-\d+", wanted) is None:
        return find_finding(output, name)
    for folder in [find_run(output, run_name)] if run_name else saved_runs(output):
        run = load_run(folder)
        for doubt in run.doubts:
            if doubt.id == wanted:
                return folder, run, doubt
    return find_finding(output, name)


def find_misuse(output: Path, name: str) -> tuple[Path, Misuse] | None:
    """A misuse, or what an assertion found, by its id, and the newest run that has it; None if there is none."""
    run_name, _, wanted = name.rpartition("/")
    for folder in [find_run(output, run_name)] if run_name else saved_runs(output):
        try:
            misuses = load_run(folder).misuses
        except UsageError:
            continue  # of another powercut
        for misuse in misuses:
            if wanted and misuse.id.startswith(wanted):
                return folder, misuse
    return None
