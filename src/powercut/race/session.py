"""A run of `powercut race`, from the command line to a saved run.

Before: a program with threads, where it keeps its data, and what makes its input. After: a saved run whose findings are
races, each with what replays it. What cannot be tested is refused with a reason: a program that maps no file, that has
one thread, that does not end by itself, whose recovery or check refuses even the folder of a clean end.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Condition, Event

import msgspec

from powercut import __version__
from powercut.errors import EnvironmentFailure, PowercutError
from powercut.findings.finding import RACE_KINDS, FindingKind
from powercut.image.scratch import Scratch, ScratchError, ScratchPolicy, make_scratch
from powercut.model.filesystem import FileSystem, file_systems
from powercut.model.memory import AUTO, PX86
from powercut.oracle.check_command import check_command
from powercut.programs import find_program
from powercut.quick_dataclass import dataclass
from powercut.race.agenda import Agenda
from powercut.race.allow import AllowList
from powercut.race.campaign import Stage
from powercut.race.client import uses_port
from powercut.race.clock import Clock
from powercut.race.crash_bugs import CrashBugs
from powercut.race.failures import FAILED, Failures
from powercut.race.grammar import Grammar, load_grammar
from powercut.race.image_judge import ImageJudge
from powercut.race.inputs import Inputs, seed_files
from powercut.race.preflight import Preflight
from powercut.race.race_search import RaceBudget, RaceSearch
from powercut.race.recovery import Recovery
from powercut.race.results import RaceResults
from powercut.race.scheduler import ExecutionScheduler, Mode
from powercut.race.validation import Validator
from powercut.record.recorder import RecordOptions
from powercut.record.tracers import require_memory_tool
from powercut.runs.apply_baseline import apply_baseline, load_baseline
from powercut.runs.store import SavedRun, save_run
from powercut.runs.workspace import Workspace
from powercut.settings import seconds

_WORKS_AGAIN = (
    "{} of the inconsistencies count as repaired, because the program overwrote them when it ran as its own "
    "recovery. If it just repeats its work, that proves nothing: use --recovery with a command that only recovers"
)


@dataclass(frozen=True, slots=True)
class RaceOptions:
    """What the command line of `powercut race` says beside the settings.

    Attributes:
        recovery: the command that recovers; None for the program itself, with an empty seed.
        client: the command that drives the program, if that is a server.
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
    client: str | None = None


@dataclass(frozen=True, slots=True)
class _Commands:
    """What is executed: the program, what recovers, and what checks, if anything does."""

    workload: list[str]
    recovery: list[str]
    check: list[str] | None
    client: list[str] | None


class RaceSession:
    """One run."""

    def __init__(self, workspace: Workspace, options: RaceOptions) -> None:
        self._workspace = workspace
        self._options = options
        self._clock = Clock(seconds(workspace.settings.budget))
        self._stop = Event()

    def run(self, command: Sequence[str]) -> tuple[SavedRun, Path]:
        """Search, judge, save."""
        workspace = self._workspace
        load_baseline(workspace.baseline, write=workspace.write_baseline)  # one that cannot be read is refused at once
        inputs, recovery = self._inputs(), self._recovery_command(command)
        settings = workspace.settings
        check = check_command(settings.check, workspace.cwd, workspace.folder) if settings.check else None
        program = Path(workspace.cwd, find_program(command[0], workspace.cwd))
        options = self._record_options(require_memory_tool(program))
        run_folder = workspace.new_run()
        commands = _Commands(list(command), list(recovery), check, self._client())
        self._require_ports(commands)
        try:
            with self._scratch() as scratch:
                search = self._build(commands, options, scratch, inputs, run_folder)
                search.save = lambda: self._save(commands, search, run_folder, final=False)
                self._explore(search)
            return self._save(commands, search, run_folder, final=True), run_folder
        except PowercutError:
            shutil.rmtree(run_folder, ignore_errors=True)  # a refusal: nothing in it is more than a candidate
            raise
        finally:
            with suppress(OSError):
                run_folder.rmdir()  # only if nothing was written

    def _build(
        self, commands: _Commands, options: RecordOptions, scratch: Path, inputs: Inputs, run_folder: Path
    ) -> RaceSearch:
        settings, workbench = self._workspace.settings, Condition()
        stage = Stage(commands.workload, options, scratch, settings.timeout, commands.client)
        where = options.cwd if self._options.recovery is None else options.folder  # a check runs there, too
        recovery = Recovery(commands.recovery, replace(options, cwd=where), scratch, settings.timeout, workbench)
        recovers = self._image_judge(commands.recovery, workbench)
        check = self._image_judge(commands.check, workbench) if commands.check is not None else None
        scheduler = ExecutionScheduler(inputs, self._options.schedule, settings.seed)
        allow, settled = AllowList(settings.race.reasons), scheduler.experience.settled
        return RaceSearch(
            stage,
            Agenda(scheduler, RaceResults(run_folder, allow, workbench, settled=settled)),
            inputs,
            Validator(recovery, check, workbench),
            CrashBugs(recovers, check, self._clock),
            Preflight(stage, self._has_input),
            Failures(run_folder),
            self._row(),
            self._budget(),
            self._workspace.tell,
            lambda: None,
            self._stop,
            workbench,
        )

    def _image_judge(self, command: Sequence[str], workbench: Condition) -> ImageJudge:
        workspace = self._workspace
        scratch = Path(workspace.settings.scratch) if workspace.settings.scratch else None
        views = workspace.namespaces()
        timeout = workspace.settings.timeout
        return ImageJudge(command, workspace.folder, timeout, self._stop, views, workbench, scratch)

    def _explore(self, search: RaceSearch) -> None:
        """Search; if the machine fails on the way, what was found before is kept."""
        try:
            search.run(self._jobs)
        except EnvironmentFailure as error:
            if not search.bugs:
                raise
            self._workspace.say(f"the search ended early: {error}", warning=True)
        self._say_how_it_ended(search)

    def _budget(self) -> RaceBudget:
        options = self._options
        return RaceBudget(self._clock, options.max_findings or math.inf, options.max_executions or math.inf)

    @property
    def _jobs(self) -> int:
        return self._options.jobs or os.cpu_count() or 1

    def _require_ports(self, commands: _Commands) -> None:
        """Executions at the same time need ports of their own."""
        if commands.client is not None and not uses_port(commands.workload):
            self._options = replace(self._options, jobs=1)
            self._workspace.say(
                "the command of the server has no {port}, so powercut runs one execution at a time", warning=True
            )

    def _say_how_it_ended(self, exploration: RaceSearch) -> None:
        say = self._workspace.say
        failures, preflight = exploration.failures, exploration.preflight
        for ending, times in failures.endings.items():
            where = f". What it read and printed is in {failures.folder / FAILED}"
            say(f"{times} of {exploration.executions} executions failed: the program {ending}{where}", warning=True)
        if preflight.cut_short:
            say("the budget ended before the program did, so nothing was judged. Increase --budget", warning=True)
        elif exploration.executions and not preflight.ended_well:
            say("no execution ended well, so nothing else was tested", warning=True)
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
        return Inputs(given, grammar, self._workspace.settings.seed, str(options.grammar))

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

    def _client(self) -> list[str] | None:
        given, workspace = self._options.client, self._workspace
        return check_command(given, workspace.cwd, workspace.folder, "client") if given is not None else None

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

    def _save(self, commands: _Commands, search: RaceSearch, run_folder: Path, *, final: bool) -> SavedRun:
        """Write down all that is known so far; before the end, without the baseline's word on it."""
        run = self._saved(commands, search, interrupted=search.interrupted or not final)
        if final:
            self._mark_known(run)
        for finding in run.findings:
            finding.replay = f"powercut replay {run_folder.name}/{finding.id}" + self._workspace.output_option()
        save_run(run_folder, run)
        return run

    def _saved(self, commands: _Commands, search: RaceSearch, *, interrupted: bool) -> SavedRun:
        workspace, settings = self._workspace, self._workspace.settings
        results, validator = search.results, search.validator
        order = [*RACE_KINDS, *(kind for kind in FindingKind if kind not in RACE_KINDS)]
        facts = {
            **search.counts(),
            "schedule": self._options.schedule,
            "finished": search.finished,
            "failures": dict(search.failures.endings),
            "allowed": results.allow.told(),
            "recovery": commands.recovery,
            "client": commands.client,
            "cwd": str(workspace.cwd),
        }
        found = list(results.findings.values())
        return SavedRun(
            version=__version__,
            command=commands.workload,
            folder=str(workspace.folder),
            check=commands.check,
            timeout=settings.timeout,
            findings=sorted(found, key=lambda one: (one.severity, order.index(one.kind), one.id)),
            states={"tested": validator.images, "equal": validator.equal},
            model=f"{self._row().name}+{self._row().memory.name}",
            seconds=self._clock.passed,
            race=facts,
            notes=workspace.notes,
            interrupted=interrupted,
        )
