"""Saved runs: a folder for each, with the trace, the settings and the findings, so that any finding replays later.

  OUTPUT/runs/0001/trace        the recording
  OUTPUT/runs/0001/run.json     the report (documented JSON) and what replay needs

Runs are numbered; a run is written whole or not at all (a new file, synced, renamed into place).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec

from powercut.errors import EnvironmentFailure, UsageError
from powercut.findings.finding import Finding

FORMAT = 1


class SavedRun(msgspec.Struct, kw_only=True):
    """What run.json holds."""

    format: int = FORMAT
    version: str = ""
    command: list[str] = []
    folder: str = ""
    check: list[str] | None = None
    timeout: float = 10.0
    findings: list[Finding] = []
    states: dict[str, Any] = {}
    model: str = ""
    seconds: float = 0.0
    notes: list[str] = []
    interrupted: bool = False


def new_run_folder(output: Path) -> Path:
    """Make the folder of the next run."""
    runs = output / "runs"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        while True:
            numbers = [int(p.name) for p in runs.iterdir() if re.fullmatch(r"\d{4,}", p.name)]
            path = runs / f"{max(numbers, default=0) + 1:04d}"
            try:
                path.mkdir()
            except FileExistsError:
                continue  # another run was faster
            return path
    except OSError as error:
        raise EnvironmentFailure(
            "output-unwritable",
            f"cannot make a folder for this run in {output}: {error.strerror}.",
            "Name another one with --output DIR.",
        ) from error


def save_run(folder: Path, run: SavedRun) -> Path:
    """Write run.json."""
    path = folder / "run.json"
    write_durably(path, msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")
    return path


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file as powercut tells others to: write beside it, sync, rename, sync the directory."""
    beside = path.with_name(path.name + ".new")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise EnvironmentFailure("output-unwritable", f"cannot write {path}: {error.strerror}.") from error


def load_run(path: Path) -> SavedRun:
    """Read a saved run."""
    try:
        content = (path / "run.json").read_bytes()
    except OSError as error:
        raise UsageError("no-run", f"there is no saved run in {path}: {error.strerror}.") from error
    try:
        run = msgspec.json.decode(content, type=SavedRun)
    except msgspec.MsgspecError as error:
        raise UsageError("broken-run", f"{path / 'run.json'} is not a saved run: {error}.") from error
    if run.format != FORMAT:
        raise UsageError("other-run-format", f"{path} was saved in format {run.format}, this powercut reads {FORMAT}.")
    return run


def latest_run(output: Path) -> Path:
    """The newest run that was saved."""
    runs = sorted((p.parent for p in output.glob("runs/*/run.json")), key=lambda p: p.name)
    if not runs:
        raise UsageError("no-run", f"no saved run in {output}.", "Run powercut test first, or name --output DIR.")
    return runs[-1]


def find_finding(output: Path, name: str | None) -> tuple[Path, SavedRun, Finding]:
    """A finding by its id (or the first letters of it), in the newest run that has it; RUN/ID names the run."""
    wanted, run_name = (name or ""), None
    if "/" in wanted:
        run_name, _, wanted = wanted.rpartition("/")
    if run_name:
        folders = [Path(run_name) if Path(run_name).is_dir() else output / "runs" / Path(run_name).name]
    else:
        folders = sorted((p.parent for p in output.glob("runs/*/run.json")), reverse=True)
    for folder in folders:
        run = load_run(folder)
        matching = [finding for finding in run.findings if finding.id.startswith(wanted)]
        if wanted and len({finding.id for finding in matching}) > 1:
            raise UsageError("many-findings", f"{wanted!r} is the start of several findings.", "Give more letters.")
        if matching:
            return folder, run, matching[0]
        if not wanted:
            break
    what = f"no finding {wanted!r}" if wanted else "no finding"
    raise UsageError("no-finding", f"there is {what} in the saved runs of {output}.", "powercut show lists them.")
