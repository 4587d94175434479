"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from powercut.commands.names import (
    complete_file_systems,
    complete_memories,
    complete_strategies,
    complete_tracers,
)
from powercut.errors import EnvironmentFailure, UsageError
from powercut.image.ignored import PATTERNS
from powercut.report.formats import FORMATS

if TYPE_CHECKING:
    from powercut.settings import Settings

Command = Callable[..., Any]

MEMORY_HELP = "Model of mapped memory: px86, eadr, page-cache, or auto (default)."
OUTPUT_HELP = "Folder of saved runs (default .powercut)."
SCRATCH_HELP = "Folder for crash images (default: in memory)."
_CHECK = click.option("--check", metavar="CMD", help="Command that exits with 0 if a crashed folder is fine.")
_FS = click.option(
    "--fs",
    metavar="NAMES",
    shell_complete=complete_file_systems,
    help="File-system models, separated by commas; linux (default) are the common ones, all is every one.",
)
_MEMORY = click.option(
    "--memory",
    metavar="NAME",
    shell_complete=complete_memories,
    help=MEMORY_HELP,
)


if TYPE_CHECKING:
    _ToFloat = click.ParamType[float]
else:
    _ToFloat = click.ParamType  # older releases of click have no other


class Time(_ToFloat):
    """A length of time: seconds, or with its unit as `--budget` takes it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        try:
            return float(value)
        except ValueError:
            from powercut.settings import seconds  # takes its time to load, and help needs none of it

            try:
                return seconds(value)
            except UsageError:
                self.fail(f"{value!r} is not a duration. Write it like 30s, 5m or 1h.", param, ctx)


TIME = Time()


_BUDGET = click.option("--budget", metavar="TIME", help="How long it may take: 30s, 5m, 1h (default 60s).")
_SEED = click.option("--seed", type=int, metavar="N", help="Seed of the random part of the search.")
_JUDGE = (
    *(_CHECK, _FS, _MEMORY, _BUDGET),
    click.option("--max-states", type=int, metavar="N", help="Test at most N states."),
    click.option("--timeout", type=TIME, metavar="TIME", help="A check that takes longer counts as hung (default 10)."),
    click.option("--workers", type=int, metavar="N", help="Checks to run in parallel (default: one per core)."),
    _SEED,
    click.option("--tear/--no-tear", default=None, help="Let blocks tear into 512-byte sectors (default: no)."),
)
_EXPLORE = (
    *_JUDGE,
    click.option(
        "--strategies",
        metavar="NAMES",
        shell_complete=complete_strategies,
        help="Search strategies, separated by commas, or all (default).",
    ),
    click.option("--executor", metavar="NAME", help="Where checks run: local (default), or ray for a Ray cluster."),
    click.option("--ray-address", metavar="ADDRESS", help="The Ray cluster (default: RAY_ADDRESS, or auto)."),
    click.option("--cache/--no-cache", default=None, help="Use cached verdicts of earlier runs (default: yes)."),
    click.option("--lint/--no-lint", default=None, help="Also run lint on the trace (default: yes)."),
    click.option(
        "--equivalence/--no-equivalence",
        default=None,
        help="Skip states the check cannot tell apart (default: auto).",
    ),
    click.option(
        "--fork-checks/--no-fork-checks",
        default=None,
        help="Start a check once and fork it for each state, where that is safe (default: yes).",
    ),
)
_COMMON = (
    click.option("--scratch", metavar="DIR", type=click.Path(file_okay=False), help=SCRATCH_HELP),
    click.option("--output", metavar="DIR", type=click.Path(file_okay=False), help=OUTPUT_HELP),
    click.option(
        "--namespaces/--no-namespaces",
        default=None,
        help="Show the copy at the path of the data folder, in a private mount (default: yes).",
    ),
)
_DIR = click.option(
    "--dir",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="The data folder, which the program writes to (default: the current folder).",
)
ANY_FOLDER = click.option(
    "--any-folder/--no-any-folder", default=None, help="Accept /, your home or a system folder as --dir (default: no)."
)
_RECORD = (
    _DIR,
    ANY_FOLDER,
    click.option(
        "--tracer",
        metavar="NAME",
        shell_complete=complete_tracers,
        help="What to record: calls, memory (also stores into mapped files), or auto (default).",
    ),
    click.option("--stacks/--no-stacks", default=None, help="Record call stacks (default: yes)."),
    click.option(
        "--runtimes/--no-runtimes",
        default=None,
        help="Let Node, Python and Java tell lines, through variables of the environment (default: yes).",
    ),
    click.option(
        "--ignore",
        metavar="PATTERNS",
        help=f"Names that are no data, separated by commas. The default stands for {', '.join(PATTERNS)}.",
    ),
    click.option("--no-ignore", "ignore", flag_value="none", default=None, help="Test all names: --ignore none."),
)


def _some_seconds(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A time after which something is done: more than none, and it must come."""
    if not (value > 0 and math.isfinite(value)):
        raise click.BadParameter(f"must be more than 0 seconds, not {value:g}.", ctx, param)
    return value


def seconds_option(name: str, default: float, help_: str) -> Callable[[Command], Command]:
    """An option that is a time."""
    return click.option(
        name, type=TIME, metavar="TIME", default=default, show_default=True, callback=_some_seconds, help=help_
    )


def _apply(options: tuple[Callable[[Command], Command], ...]) -> Callable[[Command], Command]:
    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_BASELINE = (
    click.option(
        "--baseline",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="File of known findings, with reasons (default powercut-baseline.toml).",
    ),
    click.option("--write-baseline", is_flag=True, help="Add everything found to the baseline."),
)


def _report_option(name: str, what: str) -> Callable[[Command], Command]:
    kind = click.Path(dir_okay=False, allow_dash=True)
    help_ = f"Write {what}; - for standard output."
    return click.option(f"--{name}", f"{name}_file", metavar="FILE", type=kind, help=help_)


JSON_OPTION = _report_option("json", "a JSON report")
HTML_OPTION = _report_option("html", "an HTML page")
_REPORTS: tuple[Callable[[Command], Command], ...] = (
    *(_report_option(form.name, form.what) for form in FORMATS if form.name != "github"),
    click.option("--github", is_flag=True, help="Also print annotations for GitHub Actions."),
)


judge_options = _apply(_JUDGE)
race_options = _apply((_DIR, ANY_FOLDER, _CHECK, _MEMORY, _BUDGET, _SEED))
explore_options = _apply(_EXPLORE)
report_options = _apply(_REPORTS)
baseline_options = _apply(_BASELINE)
common_options = _apply(_COMMON)
record_options = _apply(_RECORD)
DEFAULT_LOG = ".powercut/guard"
LOG_OPTION = click.option(
    "--log",
    metavar="DIR",
    type=click.Path(file_okay=False),
    default=DEFAULT_LOG,
    show_default=True,
    help="The folder of the checkpoint log.",
)
_PROGRAM = "-- PROGRAM [ARG]..."
workload_argument = click.argument("workload", nargs=-1, required=True, type=click.UNPROCESSED, metavar=_PROGRAM)
optional_workload = click.argument("workload", nargs=-1, type=click.UNPROCESSED, metavar=f"[{_PROGRAM}]")


def settings_from(options: dict[str, Any]) -> tuple[Settings, Path]:
    """Settings of a command, and where it was started."""
    from powercut.settings import load_settings

    try:
        cwd = Path.cwd()
    except FileNotFoundError as error:
        raise EnvironmentFailure("no-current-folder", "the current folder no longer exists.") from error
    return load_settings(cwd, options), cwd


def saved_runs(output: str | None) -> Path:
    """Where saved runs are: as the command line says, or the settings of this folder."""
    settings, _ = settings_from({"output": output})
    return Path(settings.output)
