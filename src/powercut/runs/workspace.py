"""What the session of every tool stands on: its settings, its folders, what was told, how to record and to judge.

Before: settings, and where the command was started. After: traces, timelines and judges as these settings say. Whatever
cannot be done as usual is said once, and kept with the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from powercut import _engine
from powercut.errors import EnvironmentFailure
from powercut.image.ignored import is_made_anew, patterns_in
from powercut.image.survey import Survey, changed_since
from powercut.model.filesystem import file_systems
from powercut.model.memory import PAGE_CACHE
from powercut.oracle.check_command import check_command
from powercut.quick_dataclass import dataclass
from powercut.record.recorder import RecordOptions
from powercut.record.workload import Workload, record
from powercut.runs.data_folder import require_data_folder
from powercut.runs.housekeeping import hide_from_git
from powercut.runs.store import new_run_folder
from powercut.search.events import Doing, Event, Said, Subscriber
from powercut.search.judging import Check, Judging
from powercut.settings import Settings
from powercut.states.timeline import Timeline
from powercut.states.timelines import make_timelines
from powercut.trace.reader import Trace


def changes_below(trace: Trace) -> str:
    """What to say of changes in the folder since a recording that needs it; empty if there is nothing to say."""
    if trace.rest is None:
        return ""
    changed = changed_since(Path(trace.folder), trace.rest)
    if changed is None:
        return f"images hold only what the program touched, and the rest of {trace.folder} cannot be looked at"
    if not changed:
        return ""
    names = ", ".join(str(Path(trace.folder, path)) for path in changed[:3])
    more = f" and {len(changed) - 3} more folders" if len(changed) > 3 else ""
    return (
        f"files that the program did not touch have changed since the recording, in {names}{more}: checks see them as "
        "they are now"
    )


@dataclass(slots=True)
class Workspace:
    """What a run needs to know, and where it stands."""

    settings: Settings
    cwd: Path
    tell: Subscriber
    check: Check | None = None  # a Python function instead of settings.check
    notes: list[str] = field(default_factory=list)
    views: bool | None = None  # whether programs see images at the folder's own path, once that is known
    write_baseline: bool = False  # add what is found to the baseline

    def say(self, text: str, *, warning: bool = False) -> None:
        """Tell the user, and keep it with the run."""
        if warning and text not in self.notes:
            self.notes.append(text)
        self.tell(Said(text, warning))

    def told(self, event: Event) -> None:
        """Keep warnings with the run."""
        if isinstance(event, Said):
            self.say(event.text, warning=event.warning)

    @property
    def folder(self) -> Path:
        """The data folder."""
        return (self.cwd / (self.settings.dir or ".")).resolve()

    @property
    def output(self) -> Path:
        """Where runs are saved."""
        return self.cwd / self.settings.output

    @property
    def baseline(self) -> Path:
        """The file of known findings."""
        return self.cwd / self.settings.baseline

    def output_option(self) -> str:
        """What a later command needs to find the runs."""
        return "" if self.settings.output == ".powercut" else f" --output {shlex.quote(self.settings.output)}"

    def record_run(self, workload: Workload) -> tuple[Trace, Path]:
        """Record a workload into the folder of a new run."""
        if self.settings.check is not None and self.check is None:
            check_command(
                self.settings.check, self.cwd, self.folder
            )  # what cannot run is refused before the program has
        run_folder = self.new_run()
        try:
            return self.record(workload, run_folder / "trace"), run_folder
        finally:
            with suppress(OSError):
                run_folder.rmdir()  # only if nothing was written

    def new_run(self) -> Path:
        """Make the folder of a run, for a data folder that is one."""
        require_data_folder(self.folder, any_folder=self.settings.any_folder)
        made = not self.output.is_dir()
        run_folder = new_run_folder(self.output)
        hide_from_git(self.output, made=made)
        return run_folder

    def record(self, workload: Workload, output: Path, *, cwd: Path | None = None, added: Path | None = None) -> Trace:
        """Record a workload; `cwd` is where it starts, if that is elsewhere, `added` a plan of syncs to put in."""
        require_data_folder(self.folder, any_folder=self.settings.any_folder)
        options = RecordOptions(
            folder=self.folder,
            cwd=cwd or self.cwd,
            output=output,
            namespaces=self.namespaces(),
            scratch=Path(self.settings.scratch) if self.settings.scratch else None,
            stacks=self.settings.stacks,
            runtimes=self.settings.runtimes,
            skip=(self.output,),
            added=added,
            ignore=patterns_in(self.settings.ignore, self.folder),
            survey=self._survey(),
            say=self.say,
        )
        persistent = self.settings.memory != PAGE_CACHE.name
        self.tell(Doing("recording the program"))
        return record(workload, options, self.settings.tracer, persistent, self.say)

    def _survey(self) -> Survey | None:
        """What the data folder holds, if programs and checks may see it without a copy: all on this machine."""
        if not self.namespaces() or self.settings.executor != "local" or not self.folder.is_dir():
            return None
        try:
            survey = Survey(self.folder, patterns_in(self.settings.ignore, self.folder), (self.output.resolve(),))
        except OSError:
            return None
        return None if survey.foreign else survey

    def timelines(self, trace: Trace) -> list[Timeline]:
        """A timeline for each model."""
        if trace.truncated:
            self.say(f"the trace {trace.name} is truncated; powercut tests the part that is there", warning=True)
        rows = file_systems(self.settings.fs, self.settings.memory)
        self.tell(Doing("computing crash states"))
        timelines = make_timelines(trace, [row.torn() if self.settings.tear else row for row in rows])
        first = timelines[0]
        if not len(first.updates) and trace.truncated:
            raise trace.broken("it ends before the program changed anything")
        if not len(first.updates):
            raise EnvironmentFailure(
                "nothing-written",
                f"the program changed nothing in {trace.folder}.",
                "Is --dir the folder it writes to?",
            )
        for note in first.notes:
            self.say(note, warning=True)
        mapped = [first.index.path_of(number) for number, thing in enumerate(first.tree.things) if thing.mapped]
        mapped = [path for path in mapped if not is_made_anew(path)]
        if mapped:
            names = ", ".join(path.decode("utf-8", "replace") for path in mapped[:3])
            self.say(f"stores to shared mappings are not tested: {names}", warning=True)
        return timelines

    def judging(self, timelines: Sequence[Timeline]) -> Judging:
        trace = timelines[0].trace
        views = self._shown_at(trace.folder)
        if trace.rest is not None and not views and not (self.check is None and self.settings.check is None):
            self.say(f"images hold only what the program touched, without the rest of {trace.folder}", warning=True)
        return Judging(self.settings, self.cwd, self.check, timelines, views)

    def _shown_at(self, folder: str) -> bool:
        """Whether checks see images at the path of the data folder; with the built-in check nobody looks."""
        if self.check is None and self.settings.check is None:
            return False
        if self.namespaces() and not Path(folder).is_dir():
            self.say(
                f"{folder} does not exist on this machine; the check sees the images at another path", warning=True
            )
            self.views = False
        return self.namespaces()

    def say_what_changed(self, trace: Trace) -> None:
        """Warn of changes in the folder since the recording: checks see what the program did not touch as it is."""
        words = changes_below(trace)
        if words:
            self.say(words, warning=True)

    def namespaces(self) -> bool:
        """Whether programs see images at the folder's own path; if not, that is said, once."""
        if self.views is None:
            possible, why = _engine.can_enter_view() if self.settings.namespaces else (False, "--no-namespaces")
            if not possible:
                self.say(
                    f"private mounts are not available ({why}): programs see a copy of the data folder at another "
                    "path, and powercut replaces the folder's path in their arguments",
                    warning=True,
                )
            self.views = possible
        return self.views
