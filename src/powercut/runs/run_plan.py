"""The plan of a run: what it takes to go on with it after it was stopped, in whatever way.

Before a search begins, its trace and its plan are on disk, synced. So a run that was interrupted, killed, or ended by a
real power cut can be taken up again: the plan says how to search, the kept verdicts what has been asked already.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from powercut.errors import EnvironmentFailure, UsageError
from powercut.runs.store import PLAN, named_folders, numbered_runs, to_json, write_durably
from powercut.settings import Settings, check_settings

FORMAT = 1


class Plan(msgspec.Struct, kw_only=True):
    """What plan.json holds.

    Attributes:
        cwd: where the run was started: relative paths mean files there.
        notes: what the recording did not cover.
        function: the name of the Python function that is the check: such a run cannot go on without it.
    """

    format: int = FORMAT
    settings: Settings
    cwd: str
    function: str | None = None
    notes: list[str] = []


def save_plan(folder: Path, plan: Plan) -> None:
    """Write the plan of a run whose trace is recorded; both survive a power cut from now on."""
    try:
        fd = os.open(folder / "trace", os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise EnvironmentFailure("output-unwritable", f"cannot sync {folder}/trace: {error.strerror}.") from error
    write_durably(folder / PLAN, to_json(plan))


def find_plan(output: Path, name: str | None) -> Path:
    """The folder of a run that has a plan: the newest one, or the one of a number or path."""
    folders = numbered_runs(output) if name is None else named_folders(output, name)
    for folder in folders:
        if (folder / PLAN).is_file():
            return folder
    if name is None:
        raise UsageError("no-run", f"no run in {output} can be resumed.", "Run powercut test first, or give --output.")
    if any(folder.is_dir() for folder in folders):
        why = "it was stopped before the program ended, or it was made by an older powercut or by powercut race"
        raise UsageError("not-resumable", f"run {name} cannot be resumed: {why}.", "Run it again.")
    raise UsageError("no-run", f"there is no run {name} in {output}.")


def load_plan(folder: Path) -> Plan:
    """Read a plan; what it says is checked as if the user had said it."""
    path = folder / PLAN
    try:
        plan = msgspec.convert(json.loads(path.read_bytes()), Plan)
    except OSError as error:
        raise UsageError("broken-run", f"cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise UsageError("broken-run", f"{path} is not the plan of a run: {error}.") from error
    if plan.format != FORMAT:
        raise UsageError("other-run-format", f"{path} has format {plan.format}, this powercut reads {FORMAT}.")
    check_settings(plan.settings, "broken-run", f"{path}: ")
    return plan


@contextmanager
def sole_run(folder: Path) -> Iterator[None]:
    """Search a run in one process at a time; the lock ends with the process, however that ends."""
    fd = os.open(folder / PLAN, os.O_RDONLY)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError("run-in-use", f"run {folder.name} is still running.", "Wait until it ends.") from error
        except OSError:
            pass  # this file system knows no locks
        yield
    finally:
        os.close(fd)
