"""A run of `powercut race`, from the command line to a saved run.

Before: a program with threads, where it keeps its data, and what makes its input. After: a saved run whose findings are
races, each with what replays it. What cannot be tested is refused with a reason: a program that maps no file, that has
one thread, that does not end by itself, whose recovery or check refuses even the folder of a clean end.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import msgspec

from powercut import __version__
from powercut.errors import EnvironmentFailure
from powercut.findings.finding import RACE_KINDS
from powercut.image.scratch import Scratch, ScratchError, ScratchPolicy, make_scratch
from powercut.model.filesystem import FileSystem, file_systems
from powercut.model.memory import AUTO, PX86
from powercut.oracle.check_command import check_command, check_environment
from powercut.oracle.command import CommandOracle
from powercut.oracle.verdict import Verdict
from powercut.programs import find_program
from powercut.race.allow import AllowList
from powercut.race.campaign import Stage
from powercut.race.grammar import Grammar, load_grammar
from powercut.race.inputs import Inputs, seed_files
from powercut.race.preflight import never_ends, require_clean_end, scout
from powercut.race.race_search import RaceBudget, RaceSearch
from powercut.race.recovery import Recovery
from powercut.race.results import RaceResults
from powercut.race.scheduler import ExecutionScheduler, Mode
from powercut.race.validation import Check, Validator
from powercut.record.recorder import RecordOptions
from powercut.record.tracers import require_memory_tool
from powercut.runs.apply_baseline import apply_baseline, load_baseline
from powercut.runs.replay import judge_state
from powercut.runs.store import SavedRun, save_run
from powercut.runs.workspace import Workspace
from powercut.settings import seconds
from powercut.states.state import State
from powercut.states.timeline import Timeline

_WORKS_AGAIN = (
    "{} of the inconsistencies count as repaired, because the program overwrote them when it ran as its own "
    "recovery. If it just repeats its work, that proves nothing: use --recovery with a command that only recovers"
)


@dataclass(frozen=True, slots=True)
class RaceOptions:
    """What the command line of `powercut race` says beside the settings.

    Attributes:
        recovery: the command that recovers; None for the program itself, with an empty seed.
        jobs: executions at the same time.
        threads: how many the program has, for a grammar; None for what the grammar says.
        max_findings, max_executions: after which the search ends; None for no limit.
    """

    seeds: Path | None = None
    grammar: Path | None = None
    recovery: str | None = None
    schedule: Mode = "pm"
    jobs: int = 0
    threads: int | None = None
    max_findings: int | None = None
    max_executions: int | None = None


class RaceSession:
    """One run."""

    def __init__(self, workspace: Workspace, options: RaceOptions) -> None:
        self._workspace = workspace
        self._options = options
        self._stop = Event()

    def run(self, command: Sequence[str]) -> tuple[SavedRun, Path]:
        """Search, judge, save."""
        workspace = self._workspace
        load_baseline(workspace.baseline, write=workspace.write_baseline)  # one that cannot be read is refused at once
        inputs, recovery = self._inputs(), self._recovery_command(command)
        check = self._check()
        program = Path(workspace.cwd, find_program(command[0], workspace.cwd))
        options = self._record_options(require_memory_tool(program))
        run_folder = workspace.new_run()
        try:
            with self._scratch() as scratch:
                began = time.monotonic()
                exploration = self._explore(command, recovery, check, options, scratch, inputs, run_folder)
                run = self._saved(command, recovery, exploration, time.monotonic() - began)
            self._mark_known(run)
            for finding in run.findings:
                finding.replay = f"powercut replay {run_folder.name}/{finding.id}" + workspace.output_option()
            save_run(run_folder, run)
        finally:
            with suppress(OSError):
                run_folder.rmdir()  # only if nothing was written
        return run, run_folder

    def _explore(
        self,
        command: Sequence[str],
        recovery: Sequence[str],
        check: Check | None,
        options: RecordOptions,
        scratch: Path,
        inputs: Inputs,
        run_folder: Path,
    ) -> RaceSearch:
        settings = self._workspace.settings
        stage = Stage(command, options, scratch, settings.timeout)
        where = options.cwd if self._options.recovery is None else options.folder  # a check runs there, too
        recovers = Recovery(recovery, replace(options, cwd=where), scratch, settings.timeout)
        scheduler = ExecutionScheduler(inputs, self._options.schedule, settings.seed)
        allow, settled = AllowList(settings.race.reasons), scheduler.experience.settled
        results = RaceResults(run_folder, Validator(recovers, check), allow, settled=settled)
        exploration = RaceSearch(stage, scheduler, inputs, results, self._row(), self._workspace.tell, self._stop)
        if self._scout(exploration):
            self._search(exploration)
            inputs.refusals.check(str(self._options.grammar))
        self._say_how_it_ended(exploration)
        return exploration

    def _search(self, exploration: RaceSearch) -> None:
        """Search; if the machine fails on the way, what was found before is kept."""
        try:
            exploration.run(self._jobs, self._budget())
        except EnvironmentFailure as error:
            if not exploration.results.findings:
                raise
            self._workspace.say(f"the search ended early: {error}", warning=True)

    def _scout(self, exploration: RaceSearch) -> bool:
        """The first look; whether an execution ended well, so that there is something to search."""
        results, stage = exploration.results, exploration.stage
        for task, campaign in scout(stage, exploration.scheduler):
            if campaign.hung:
                if not self._has_input:
                    raise never_ends(stage, campaign)
                exploration.file_hang(campaign)
                continue
            recovers, check = results.validator.recovery, results.validator.check
            limit = require_clean_end(recovers, check, Timeline(campaign.execution.trace, self._row()))
            results.validator.recovery = replace(recovers, limit=limit)
            exploration.learn(task, exploration.study(task, campaign))
            exploration.inputs.refusals.check(str(self._options.grammar))
            return True
        self._workspace.say("no execution ended, so nothing else was tested", warning=True)
        return False

    def _budget(self) -> RaceBudget:
        options = self._options
        bugs, executions = options.max_findings or math.inf, options.max_executions or math.inf
        return RaceBudget(seconds(self._workspace.settings.budget), bugs, executions)

    @property
    def _jobs(self) -> int:
        return self._options.jobs or os.cpu_count() or 1

    def _say_how_it_ended(self, exploration: RaceSearch) -> None:
        say = self._workspace.say
        for ending, times in exploration.failures.items():
            say(f"{times} of {exploration.executions} executions failed: the program {ending}", warning=True)
        refused = exploration.inputs.refusals
        if refused.refused:
            say(f"the program refused {refused.share:.0%} of the commands from the grammar", warning=True)
        counts = exploration.counts()
        if exploration.executions and not counts["alias_pairs"]:
            say(
                f"no two threads used the same word of a mapped file, so nothing could race. {self._more_input}",
                warning=True,
            )
        if counts["benign"] and not self._has_input and self._options.recovery is None:
            say(_WORKS_AGAIN.format(counts["benign"]), warning=True)

    @property
    def _has_input(self) -> bool:
        return self._options.seeds is not None or self._options.grammar is not None

    @property
    def _more_input(self) -> str:
        """What may let threads meet."""
        if not self._has_input:
            return "If the program reads commands, provide some with --seeds or --grammar."
        counted = self._options.grammar is None or self._grammar(self._options.grammar).refused is not None
        return "Does it understand its input?" + (
            "" if counted else " The grammar has no `refused`, which matches the program's answer to a bad command."
        )

    def _inputs(self) -> Inputs:
        options = self._options
        given = seed_files(options.seeds) if options.seeds is not None else []
        grammar = self._grammar(options.grammar) if options.grammar is not None else None
        return Inputs(given, grammar, self._workspace.settings.seed)

    def _grammar(self, path: Path) -> Grammar:
        grammar = load_grammar(path)
        threads = self._options.threads or grammar.threads
        return msgspec.structs.replace(grammar, threads=threads)

    def _recovery_command(self, command: Sequence[str]) -> Sequence[str]:
        given = self._options.recovery
        return (
            check_command(given, self._workspace.cwd, self._workspace.folder, "recovery")
            if given is not None
            else command
        )

    def _check(self) -> Check | None:
        settings, workspace = self._workspace.settings, self._workspace
        if settings.check is None:
            return None
        argv = check_command(settings.check, workspace.cwd, workspace.folder)

        def judge(timeline: Timeline, state: State) -> Verdict:
            oracle = CommandOracle(argv, settings.timeout, check_environment(timeline))
            return judge_state(timeline, state, oracle, workspace.folder, settings.timeout, workspace.told)

        return judge

    def _row(self) -> FileSystem:
        """The first model; a race is about persistent memory unless something else is said."""
        settings = self._workspace.settings
        memory = PX86.name if settings.memory == AUTO.name else settings.memory
        return file_systems(settings.fs, memory)[0]

    def _record_options(self, tool: Path) -> RecordOptions:
        workspace = self._workspace
        return RecordOptions(
            folder=workspace.folder,
            cwd=workspace.cwd,
            output=workspace.output,  # each execution has its own
            namespaces=workspace.namespaces(),
            scratch=Path(workspace.settings.scratch) if workspace.settings.scratch else None,
            skip=(workspace.output,),
            memory_tool=tool,
            persistent_memory=True,
            stop=self._stop,
        )

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        policy = ScratchPolicy(Path(given) if (given := self._workspace.settings.scratch) else None)
        scratch: Scratch = make_scratch(policy, self._workspace.folder, self._jobs, namespaces=False)
        try:
            yield scratch.path
        except EnvironmentFailure as error:  # no trace is kept there that could be explored
            if error.slug == "trace-full":
                raise ScratchError.full(str(scratch.path.parent)) from error
            raise
        finally:
            scratch.remove()

    def _mark_known(self, run: SavedRun) -> None:
        kinds = set() if run.interrupted else {kind.value for kind in RACE_KINDS}
        workspace = self._workspace
        apply_baseline(workspace.baseline, run.findings, kinds, workspace.told, write=workspace.write_baseline)

    def _saved(
        self, command: Sequence[str], recovery: Sequence[str], exploration: RaceSearch, elapsed: float
    ) -> SavedRun:
        workspace, settings = self._workspace, self._workspace.settings
        results = exploration.results
        order = list(RACE_KINDS)
        facts = {
            **exploration.counts(),
            "schedule": self._options.schedule,
            "finished": exploration.finished,
            "failures": exploration.failures,
            "allowed": results.allow.told(),
            "recovery": list(recovery),
            "cwd": str(workspace.cwd),
        }
        return SavedRun(
            version=__version__,
            command=list(command),
            folder=str(workspace.folder),
            check=check_command(settings.check, workspace.cwd, workspace.folder) if settings.check else None,
            timeout=settings.timeout,
            findings=sorted(results.findings.values(), key=lambda one: (one.severity, order.index(one.kind), one.id)),
            states={"tested": results.validator.images, "equal": results.validator.equal},
            model=f"{self._row().name}+{self._row().memory.name}",
            seconds=elapsed,
            race=facts,
            notes=workspace.notes,
            interrupted=exploration.interrupted,
        )
