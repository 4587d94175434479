"""A session: one run from recording to findings. The command line and the Python API both stand on this.

Data goes one way: record, timelines, exploration, saved run. Every stage may end the run with a `PowercutError`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

import msgspec

from powercut import __version__
from powercut.findings.baseline import Identified
from powercut.findings.finding import RACE_KINDS, FindingKind
from powercut.findings.places import Places
from powercut.findings.sources import Sources, reading
from powercut.lint.analysis import analyse, confirm
from powercut.lint.patterns import PATTERNS
from powercut.model.memory import memory
from powercut.oracle.check_command import check_command
from powercut.printable import counted
from powercut.quick_dataclass import dataclass
from powercut.record.workload import Workload
from powercut.runs.apply_baseline import apply_baseline, load_baseline
from powercut.runs.housekeeping import LARGE, bytes_text, size_of
from powercut.runs.run_plan import Plan, save_plan, sole_run
from powercut.runs.store import MORE_TIME, NO_BUDGET, NO_STATES, SavedRun, name_of, save_run
from powercut.runs.workspace import Workspace
from powercut.search.budget import Budget, for_search
from powercut.search.cache_check import CacheCheck, CheckChangedError
from powercut.search.events import Said
from powercut.search.exploration import Exploration
from powercut.search.image_judging import ForksDisprovedError
from powercut.search.inline_executor import InlineExecutor
from powercut.search.judging import check_final_state
from powercut.search.ray_executor import require_ray
from powercut.search.stages import Stages
from powercut.search.verdict_cache import VerdictCache
from powercut.settings import seconds
from powercut.states.strategy_order import strategies
from powercut.states.timeline import Timeline
from powercut.testing.doubts import doubts_of, warnings_of
from powercut.testing.run_figures import behaviors_of, coverage, states_of
from powercut.trace.reader import Trace


@dataclass(slots=True)
class Session(Workspace):
    """A run of `powercut test`, and where it stands."""

    resumed: bool = False  # goes on with a run that was stopped
    trying: bool = False  # tries the fix of another run's finding: nothing else is looked for, nothing is known
    recording: float = 0.0  # seconds that recording took, where it was part of this run
    _stages: Stages = field(default_factory=Stages)

    def test(self, workload: Workload) -> tuple[SavedRun, Path]:
        """The main job: record, explore, judge, explain, save."""
        if self.settings.executor == "ray":
            require_ray()
        load_baseline(self.baseline, write=self.write_baseline)  # one that cannot be read is refused before all else
        started = time.monotonic()
        recorded = self.record_run(workload)
        self.recording = time.monotonic() - started
        budget = seconds(self.settings.budget)
        if self.recording > budget / 2:
            took = f"recording took {self.recording:.1f} s of the budget of {self.settings.budget}"
            self.say(f"{took}; {for_search(budget, self.recording):.1f} s are left to prepare and search")
        return self.explore(*recorded)

    def explore(self, trace: Trace, run_folder: Path) -> tuple[SavedRun, Path]:
        """Search the states of a trace and save what was found."""
        if not self.resumed:
            plan = Plan(settings=self.settings, cwd=str(self.cwd), function=self._function, notes=self.notes)
            save_plan(run_folder, plan)
        with sole_run(run_folder), reading(Sources(run_folder, keeping=True)):
            return self._explore(trace, run_folder)

    def _explore(self, trace: Trace, run_folder: Path) -> tuple[SavedRun, Path]:
        started = time.monotonic()
        stages = self._stages
        stages.seconds.setdefault("recording", self.recording)
        with stages.taking("preparing"):
            timelines = self.timelines(trace)
            exploration = self._search(timelines, started - self.recording)
        self.notes += exploration.notes
        self._say_what_was_missed(timelines, exploration)
        if not self.judging(timelines).builtin:
            self.say_what_changed(trace)
        doubts = doubts_of(timelines, exploration.doubtful)
        for warning in warnings_of(exploration.doubtful, doubts, name_of(run_folder), self.output_option()):
            self.say(warning, warning=True)
        run = self._saved(trace, timelines, exploration)
        run.doubts = doubts
        if not self.trying:
            with stages.taking("lint"):
                self._lint(trace, run, exploration.places)
            self._mark_known(run)
        run.seconds = self.recording + time.monotonic() - started
        run.stages = stages.seconds
        for finding in run.findings:
            finding.replay = f"powercut replay {name_of(run_folder)}/{finding.id}" + self.output_option()
        save_run(run_folder, run)
        if not self.trying and (taken := size_of(self.output)) > LARGE:
            told = f"saved runs take {bytes_text(taken)} in {self.output}: powercut clean --keep N removes old ones"
            self.tell(Said(told, warning=True))
        return run, run_folder

    def _search(self, timelines: Sequence[Timeline], since: float) -> Exploration:
        """Search with what earlier runs left; without, if the check turns out to be another one by now."""
        use = self.settings.cache or self.resumed
        kept = self.judging(timelines).kept(self.output, lambda text: self.say(text, warning=True), use=use)
        if kept is None:
            return self._search_once(timelines, since, CacheCheck())
        try:
            if not kept.forks_disproved:
                return self._search_with(kept, timelines, since)
        except ForksDisprovedError as error:
            again = "testing everything again, and starting it for each state"
            self.say(f"the check says something else if it is forked ({error.how}); {again}", warning=True)
            kept.disprove_forks()
        finally:
            kept.close()
        self.settings = msgspec.structs.replace(self.settings, fork_checks=False)
        return self._search(timelines, since)

    def _search_with(self, kept: VerdictCache, timelines: Sequence[Timeline], since: float) -> Exploration:
        try:
            return self._search_once(timelines, since, CacheCheck(kept, resumed=self.resumed))
        except CheckChangedError:
            self.say("the check disagrees with its cached verdicts; testing everything again", warning=True)
            kept.distrust()
            return self._search_once(timelines, since, CacheCheck(kept))

    def _search_once(self, timelines: Sequence[Timeline], since: float, recall: CacheCheck) -> Exploration:
        if self.settings.executor != "local" and self.judging(timelines).builtin:
            self.say("the built-in check runs on this machine only")
        executor, output_key = self.judging(timelines).executor(anywhere=True)
        if isinstance(executor, InlineExecutor) and (said := executor.taken_for()):
            self.say(said)
        try:
            check_final_state(executor, timelines[0], self.settings.timeout, function=self.check is not None)
            budget = Budget(seconds(self.settings.budget), self.settings.max_states, since)
            names = strategies(self.settings.strategies)
            seed, equivalence = self.settings.seed, self.judging(timelines).equivalence()
            knows_output = not self.judging(timelines).builtin
            exploration = Exploration(
                timelines,
                executor,
                output_key,
                budget,
                seed,
                self.tell,
                names,
                recall,
                equivalence,
                knows_output=knows_output,
                stages=self._stages,
            )
            with self._stages.taking("search"):
                exploration.run()
            for note in [*executor.notes(), *(equivalence.notes if equivalence is not None else ())]:
                self.say(note, warning=True)
            return exploration
        finally:
            executor.close()

    def _say_what_was_missed(self, timelines: Sequence[Timeline], exploration: Exploration) -> None:
        """What the search cut, and why it tested nothing if so it was."""
        for label, tour in exploration.behaviors:
            where = f" ({label})" if len(timelines) > 1 else ""
            for cut in tour.cuts():
                self.say(f"{cut}{where}", warning=True)
        if count := exploration.counts.unexplained:
            are = "is" if count == 1 else "are"
            how = MORE_TIME if not exploration.finished else "Fix what was found, then test again"
            words = f"{counted(count, 'failing state')} {are} not explained by any finding. {how}"
            self.say(words, warning=True)
        if count := exploration.unanswered - exploration.doubtful.overdue:
            running = f"the check was still running on {counted(count, 'state')} when the budget was over"
            how = "Give it more time, or a check that may hang a shorter --timeout"
            self.say(f"{running}; not tested. {how}", warning=True)
        if not exploration.counts.tested + exploration.counts.known and not exploration.interrupted:
            self.say(NO_STATES if exploration.finished else NO_BUDGET, warning=True)

    def _lint(self, trace: Trace, run: SavedRun, places: Places) -> None:
        """Add what lint finds; not after an interrupt, which should end soon."""
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

    def _check_command(self, trace: Trace) -> list[str] | None:
        if self.settings.check is None or self.check is not None:
            return None
        return check_command(self.settings.check, self.cwd, Path(trace.folder))

    def _saved(self, trace: Trace, timelines: Sequence[Timeline], exploration: Exploration) -> SavedRun:
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
            coverage=coverage(timelines[0]),
            behaviors=behaviors_of(exploration.behaviors),
            notes=self.notes,
            interrupted=exploration.interrupted,
        )

    @property
    def _function(self) -> str | None:
        return getattr(self.check, "__qualname__", repr(self.check)) if self.check else None
