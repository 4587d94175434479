"""A session: one run from recording to findings. The command line and the Python API both stand on this.

Data goes one way: record, timelines, exploration, saved run. Every stage may end the run with a `PowercutError`.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from powercut import __version__, _engine
from powercut.errors import EnvironmentFailure
from powercut.findings.baseline import Identified
from powercut.findings.finding import RACE_KINDS, FindingKind
from powercut.findings.places import Places
from powercut.findings.sources import Sources, reading
from powercut.lint.analysis import analyse, confirm
from powercut.lint.patterns import PATTERNS
from powercut.model.filesystem import file_systems
from powercut.model.memory import PAGE_CACHE, memory
from powercut.record.recorder import RecordOptions
from powercut.report.events import Event, Said, Subscriber
from powercut.run.budget import Budget
from powercut.run.check import check_command
from powercut.run.exploration import Exploration
from powercut.run.figures import behaviors_of, coverage, states_of
from powercut.run.jobs import Executor
from powercut.run.judging import Check, Judging, Owed, check_final_state
from powercut.run.known import apply_baseline, load_baseline
from powercut.run.plan import Plan, save_plan, sole_run
from powercut.run.ray_executor import require_ray
from powercut.run.recall import CheckChangedError, Recall
from powercut.run.recording import Workload, record
from powercut.run.store import MORE_TIME, NO_BUDGET, NO_STATES, SavedRun, name_of, new_run_folder, save_run
from powercut.settings import Settings, seconds
from powercut.states.behaviors.find import already_found
from powercut.states.rows import make_timelines
from powercut.states.strategies import is_grouped
from powercut.states.strategy_names import strategies
from powercut.states.timeline import Timeline
from powercut.syncs.courts import BuiltinCourts, CheckCourts, without_syncs
from powercut.syncs.hearing import Hearing
from powercut.syncs.sites import ProgramSyncs
from powercut.syncs.verdict import SyncsRun
from powercut.trace.reader import Trace


@dataclass(slots=True)
class Session:
    """What a run needs to know, and where it stands."""

    settings: Settings
    cwd: Path
    tell: Subscriber
    check: Check | None = None  # a Python function instead of settings.check
    notes: list[str] = field(default_factory=list)
    views: bool | None = None  # whether programs see images at the folder's own path, once that is known
    write_baseline: bool = False  # add what is found to the baseline
    resumed: bool = False  # goes on with a run that was stopped
    trying: bool = False  # tries the fix of another run's finding: nothing else is looked for, nothing is known

    def say(self, text: str, *, warning: bool = False) -> None:
        """Tell the user, and keep it with the run."""
        if warning and text not in self.notes:
            self.notes.append(text)
        self.tell(Said(text, warning))

    @property
    def folder(self) -> Path:
        """The data folder."""
        return (self.cwd / (self.settings.dir or ".")).resolve()

    @property
    def output(self) -> Path:
        """Where runs are saved."""
        return self.cwd / self.settings.output

    def test(self, workload: Workload) -> tuple[SavedRun, Path]:
        """The main job: record, explore, judge, explain, save."""
        if self.settings.executor == "ray":
            require_ray()
        load_baseline(self.baseline, write=self.write_baseline)  # one that cannot be read is refused before all else
        return self.explore(*self.record_run(workload))

    def record_run(self, workload: Workload) -> tuple[Trace, Path]:
        """Record a workload into the folder of a new run."""
        if self.settings.check is not None and self.check is None:
            check_command(
                self.settings.check, self.cwd, self.folder
            )  # what cannot run is refused before the program has
        run_folder = new_run_folder(self.output)
        try:
            return self.record(workload, run_folder / "trace"), run_folder
        finally:
            with suppress(OSError):
                run_folder.rmdir()  # only if nothing was written

    def record(self, workload: Workload, output: Path, *, cwd: Path | None = None, added: Path | None = None) -> Trace:
        """Record a workload; `cwd` is where it starts, if that is elsewhere, `added` a plan of syncs to put in."""
        options = RecordOptions(
            folder=self.folder,
            cwd=cwd or self.cwd,
            output=output,
            namespaces=self.namespaces(),
            scratch=Path(self.settings.scratch) if self.settings.scratch else None,
            stacks=self.settings.stacks,
            skip=(self.output,),
            added=added,
        )
        persistent = self.settings.memory != PAGE_CACHE.name
        return record(workload, options, self.settings.tracer, persistent, self.say)

    def explore(self, trace: Trace, run_folder: Path) -> tuple[SavedRun, Path]:
        """Search the states of a trace and save what was found."""
        if not self.resumed:
            plan = Plan(settings=self.settings, cwd=str(self.cwd), function=self._function, notes=self.notes)
            save_plan(run_folder, plan)
        with sole_run(run_folder), reading(Sources(run_folder, keeping=True)):
            return self._explore(trace, run_folder)

    def _explore(self, trace: Trace, run_folder: Path) -> tuple[SavedRun, Path]:
        started = time.monotonic()
        timelines = self.timelines(trace)
        exploration = self._search(timelines, started)
        self.notes += exploration.notes
        self._say_what_was_missed(timelines, exploration)
        run = self._saved(trace, timelines, exploration, time.monotonic() - started)
        if not self.trying:
            self._lint(trace, run, exploration.places)
            self._mark_known(run)
        for finding in run.findings:
            finding.replay = f"powercut replay {name_of(run_folder)}/{finding.id}" + self.output_option()
        save_run(run_folder, run)
        return run, run_folder

    def _search(self, timelines: Sequence[Timeline], since: float) -> Exploration:
        """Search with what earlier runs left; without, if the check turns out to be another one by now."""
        use = self.settings.cache or self.resumed
        kept = self._judging(timelines).kept(self.output, lambda text: self.say(text, warning=True), use=use)
        if kept is None:
            return self._search_once(timelines, since, Recall())
        try:
            return self._search_once(timelines, since, Recall(kept, resumed=self.resumed))
        except CheckChangedError:
            self.say("the check does not say what it said in an earlier run: everything is asked again", warning=True)
            kept.distrust()
            return self._search_once(timelines, since, Recall(kept))
        finally:
            kept.close()

    def _search_once(self, timelines: Sequence[Timeline], since: float, recall: Recall) -> Exploration:
        if self.settings.executor != "local" and self._judging(timelines).builtin:
            self.say("the built-in check reads images where they are computed: it runs here, on no other machine")
        executor, owed = self._executor(timelines, anywhere=True)
        try:
            check_final_state(executor, timelines[0], self.settings.timeout)
            budget = Budget(seconds(self.settings.budget), self.settings.max_states, since)
            names = strategies(self.settings.strategies)
            seed, equivalence = self.settings.seed, self._judging(timelines).equivalence()
            hears = not self._judging(timelines).builtin
            exploration = Exploration(
                timelines, executor, owed, budget, seed, self.tell, names, recall, equivalence, hears=hears
            )
            exploration.run()
            for note in [*executor.notes(), *(equivalence.notes if equivalence is not None else ())]:
                self.say(note, warning=True)
            return exploration
        finally:
            executor.close()

    def _executor(self, timelines: Sequence[Timeline], *, anywhere: bool = False) -> tuple[Executor, Owed]:
        return self._judging(timelines).executor(anywhere=anywhere)

    def _judging(self, timelines: Sequence[Timeline]) -> Judging:
        return Judging(self.settings, self.cwd, self.check, timelines, self._shown_at(timelines[0].trace.folder))

    def _shown_at(self, folder: str) -> bool:
        """Whether checks see images at the path of the data folder; with the built-in check nobody looks."""
        if self.check is None and self.settings.check is None:
            return False
        if self.namespaces() and not Path(folder).is_dir():
            self.say(f"{folder} is not on this machine: the check sees the images at another path", warning=True)
            self.views = False
        return self.namespaces()

    def _say_what_was_missed(self, timelines: Sequence[Timeline], exploration: Exploration) -> None:
        """What the search cut, and why it tested nothing if so it was."""
        for timeline in timelines:
            found = already_found(timeline)
            where = f" ({timeline.label})" if len(timelines) > 1 else ""
            for cut in found.cuts() if found is not None else ():
                self.say(f"{cut}{where}", warning=True)
        if count := exploration.counts.unexplained:
            self.say(f"failing states that no finding explains: {count}. {MORE_TIME}", warning=True)
        if not exploration.counts.tested + exploration.counts.known and not exploration.interrupted:
            self.say(NO_STATES if exploration.finished else NO_BUDGET, warning=True)

    def weigh_syncs(self, trace: Trace) -> SyncsRun:
        """Take every sync of a trace away in the model, one after the other, and ask what that breaks."""
        started = time.monotonic()
        program = ProgramSyncs.of(self.timelines(trace))
        budget = Budget(seconds(self.settings.budget), self.settings.max_states)
        if self.check is None and self.settings.check is None:
            hearing = Hearing(program, BuiltinCourts(), budget, self.settings.seed, self.tell)
            hearing.run()
        else:
            bare = without_syncs(program)
            executor, owed = self._executor(bare)
            try:
                check_final_state(executor, bare[0], self.settings.timeout)
                courts = CheckCourts(bare, executor, owed, self.told)
                hearing = Hearing(program, courts, budget, self.settings.seed, self.tell)
                hearing.run()
            finally:
                executor.close()
        return hearing.outcome(self.notes, time.monotonic() - started)

    def _lint(self, trace: Trace, run: SavedRun, places: Places) -> None:
        """Add what the trace analysis finds; not after an interrupt, which should end soon."""
        if self.settings.lint and not run.interrupted:
            run.misuses = analyse(trace, memory(self.settings.memory), places).misuses
            confirm(run.misuses, run.findings)

    def _mark_known(self, run: SavedRun) -> None:
        """Apply the baseline; what was not looked for is not missed."""
        kinds = {kind.value for kind in FindingKind if kind not in RACE_KINDS}
        looked_for: set[str] = set() if run.interrupted else kinds
        if self.settings.lint and not run.interrupted:
            looked_for |= {pattern.name for pattern in PATTERNS}
        found: list[Identified] = [*run.findings, *run.misuses]
        apply_baseline(self.baseline, found, looked_for, self.told, write=self.write_baseline)

    @property
    def baseline(self) -> Path:
        """The file of known findings."""
        return self.cwd / self.settings.baseline

    def told(self, event: Event) -> None:
        """Keep warnings with the run."""
        if isinstance(event, Said):
            self.say(event.text, warning=event.warning)

    def timelines(self, trace: Trace) -> list[Timeline]:
        """A timeline for each model."""
        if trace.truncated:
            self.say(f"the trace {trace.name} was cut short; what it holds is explored", warning=True)
        rows = file_systems(self.settings.fs, self.settings.memory)
        timelines = make_timelines(trace, [row.torn() if self.settings.tear else row for row in rows])
        first = timelines[0]
        if not len(first.updates) and trace.truncated:
            raise trace.broken("it was cut short before the program changed anything")
        if not len(first.updates):
            raise EnvironmentFailure(
                "nothing-written",
                f"the workload changed nothing in {trace.folder}.",
                "Is --dir the folder that it writes to?",
            )
        if not is_grouped(first) and "representatives" in strategies(self.settings.strategies):
            self.say(f"{len(first.updates)} changes are too many to group: no representatives are tested", warning=True)
        for note in first.notes:
            self.say(note, warning=True)
        mapped = [number for number, thing in enumerate(first.tree.things) if thing.mapped]
        if mapped:
            names = ", ".join(first.index.path_of(obj).decode("utf-8", "replace") for obj in mapped[:3])
            self.say(f"stores through shared mappings are not covered: {names}", warning=True)
        return timelines

    def namespaces(self) -> bool:
        """Whether programs see images at the folder's own path; if not, that is said, once."""
        if self.views is None:
            possible, why = _engine.can_enter_view() if self.settings.namespaces else (False, "--no-namespaces")
            if not possible:
                self.say(
                    f"private mount namespaces are not available ({why}): programs see a copy of the data folder at "
                    "another path, and paths in their arguments are substituted",
                    warning=True,
                )
            self.views = possible
        return self.views

    def _check_command(self, trace: Trace) -> list[str] | None:
        if self.settings.check is None or self.check is not None:
            return None
        return check_command(self.settings.check, self.cwd, Path(trace.folder))

    def _saved(self, trace: Trace, timelines: Sequence[Timeline], exploration: Exploration, elapsed: float) -> SavedRun:
        counts = exploration.counts
        return SavedRun(
            version=__version__,
            command=trace.command,
            folder=trace.folder,
            check=self._check_command(trace),
            function=self._function,
            timeout=self.settings.timeout,
            findings=exploration.findings,
            states=states_of(counts),
            model=",".join(timeline.label for timeline in timelines),
            seconds=elapsed,
            coverage=coverage(timelines[0]),
            behaviors=behaviors_of(timelines),
            notes=self.notes,
            interrupted=exploration.interrupted,
        )

    @property
    def _function(self) -> str | None:
        return getattr(self.check, "__qualname__", repr(self.check)) if self.check else None

    def output_option(self) -> str:
        """What a later command needs to find the runs."""
        return "" if self.settings.output == ".powercut" else f" --output {shlex.quote(self.settings.output)}"
