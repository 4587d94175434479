"""Replay of a race: the program runs again with the saved input and schedule, and must show the same.

Before: a finding of a saved run. After: in how many of some executions it was seen. The image of the finding needs no
execution: it is built from the saved trace, as that of any other finding.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from powercut.errors import UsageError
from powercut.findings.finding import Finding, Race
from powercut.findings.saved_timeline import row_of
from powercut.programs import find_program
from powercut.race.campaign import Stage
from powercut.race.reproduction import Reproduction
from powercut.race.schedule import load_schedule
from powercut.record.recorder import RecordOptions
from powercut.record.tracers import require_memory_tool
from powercut.runs.store import SavedRun
from powercut.search.events import Repeated, Subscriber


def replay_race(
    folder: Path, run: SavedRun, finding: Finding, race: Race, tries: int, tell: Subscriber, *, views: bool
) -> Repeated:
    """Execute the program of a run again, as the finding says; how often it was seen again."""
    schedule = load_schedule(_inside(folder, race.plan))
    seed = _inside(folder, race.seed).read_bytes() if race.seed else b""
    cwd = Path(str(run.race.get("cwd", ".")))
    if not run.command or not cwd.is_dir():
        raise UsageError("broken-run", f"run {folder.name} lacks the command or its folder.")
    tool = require_memory_tool(Path(cwd, find_program(run.command[0], cwd)))
    with TemporaryDirectory(prefix="powercut-") as scratch:
        options = RecordOptions(
            Path(run.folder), cwd, Path(scratch) / "trace", views, memory_tool=tool, persistent_memory=True
        )
        client = [str(word) for word in run.race.get("client") or ()] or None
        stage = Stage(run.command, options, Path(scratch), run.timeout, client)
        reproduction = Reproduction(stage, row_of(finding.state))
        seen = 0
        for done in range(1, tries + 1):
            seen += reproduction.shows(finding, seed, schedule)
            tell(Repeated(seen, done, tries))
        return Repeated(seen, tries, tries)


def _inside(folder: Path, name: str) -> Path:
    """A file of a saved run, which must not name one elsewhere."""
    path = PurePath(name)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError("broken-run", f"a finding of {folder} names a file outside the run: {name!r}.")
    return folder / path
