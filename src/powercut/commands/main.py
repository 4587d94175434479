"""The `powercut` command: its subcommands, its help, and how it reports errors.

The user always sees one message with a code, never a traceback. An error that powercut does not know is reported as a
bug in powercut.
"""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from powercut.errors import ALIKE, ExitCode, PowercutError
from powercut.interrupts import end_as_by_interrupt, end_in_peace

COMPLETE_VARIABLE = "_POWERCUT_COMPLETE"  # what the scripts for shells set
INTERRUPTED = 130  # interrupted before anything was found
GROUPS = {
    "Main commands": ("test", "init", "show", "replay", "try", "report", "diff", "resume", "clean"),
    "Stages": ("record", "explore", "lint", "syncs", "points", "graph", "match"),
    "Persistent memory": ("check", "cc", "c++", "config", "race", "guard", "heal"),
    "This machine": ("doctor", "completion"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
_MODULES = {"c++": "cxx", "try": "trying"}  # of commands whose names no module can have
_WITHOUT_NUMPY = ("cc", "c++", "config", "completion", "clean")
_THREADS = "OPENBLAS_NUM_THREADS"

_INTERPRETERS = {".py": ["python3"], ".sh": ["sh"]}  # of scripts that are not executable


def _after_numpy(callback: Callable[..., Any]) -> Callable[..., Any]:
    """The same, once numpy is there, without the threads of its linear algebra: each spins for a while at its start.

    We calculate nothing of that kind. Programs that we start are told nothing of it: they may.
    """

    @wraps(callback)
    def run(*args: Any, **options: Any) -> Any:
        if _THREADS in os.environ:
            return callback(*args, **options)
        os.environ[_THREADS] = "1"
        try:
            import_module("numpy")
        finally:
            del os.environ[_THREADS]
        return callback(*args, **options)

    return run


class LazyGroup(click.Group):
    """Loads the module of a command when it is used; the first line of its docstring is its short help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in COMMANDS:
            return None
        module = _MODULES.get(cmd_name, cmd_name)
        command: click.Command = import_module(f"powercut.commands.{module}").command
        if cmd_name not in _WITHOUT_NUMPY and command.callback is not None:
            command.callback = _after_numpy(command.callback)
        command.short_help = (command.help or "").partition("\n")[0]  # click would cut it
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in groups, each with the first line of its help."""
        widest = max(map(len, COMMANDS))  # so that all groups have the same columns
        for title, names in GROUPS.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            rows = [(name.ljust(widest), command.short_help or "") for name, command in commands if command]
            with formatter.section(title):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; a slip of the finger, or a program without `test`, is told."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{_guess(args)}")
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _require_values(click.Context(command, ctx, name), rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; that its reader has seen enough, as in `powercut show | head`, is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            stop_printing()
            return int(ExitCode.NOTHING_FOUND)


def _require_values(ctx: click.Context, args: list[str]) -> None:
    """Refuse `--html -- PROGRAM`: click would take the two dashes for the name of a file."""
    options = [parameter for parameter in ctx.command.params if isinstance(parameter, click.Option)]
    valued = {name for option in options if not (option.is_flag or option.count) for name in option.opts}
    end = args.index("--") if "--" in args else 0
    if end and args[end - 1] in valued:
        ctx.fail(f"Option {args[end - 1]!r} needs a value before --.")


def _guess(args: list[str]) -> str:
    """What somebody may have meant who named a command that does not exist."""
    close = difflib.get_close_matches(args[0], (*COMMANDS, "--help", "--version"), 1, ALIKE)
    if not close and (shutil.which(args[0]) or Path(args[0]).is_file()):
        interpreter = _INTERPRETERS.get(Path(args[0]).suffix, []) if not os.access(args[0], os.X_OK) else []
        return f" To test a program: powercut test -- {shlex.join([*interpreter, *args])}."
    return f" Did you mean {close[0]}?" if close else ""


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="powercut", prog_name="powercut")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find out what a power cut does to your program's data, and which sync is missing.

    \b
    powercut init -- ./myprogram args                         write settings and a first check
    powercut test --check ./check.py -- ./myprogram args      test all crash states
    powercut show                                             show the findings

    \b
    Exit codes: 0 no findings, 1 findings, 2 wrong usage, 3 the program or the
    machine failed, 4 the budget ended before anything was tested or while the
    check hung, 130 interrupted before anything was found.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(int(ExitCode.USAGE))


def main() -> None:
    """Run the command line; every error is one line and an exit code."""
    try:
        _open_missing_descriptors()
        end_as_by_interrupt()
        code = cli.main(standalone_mode=False, complete_var=COMPLETE_VARIABLE)
    except (click.Abort, KeyboardInterrupt):
        code = complain("interrupted [interrupted]", INTERRUPTED)
    except Exception as error:
        code = complain(*describe(error))
        if os.environ.get("POWERCUT_DEBUG"):
            traceback.print_exc()
    _end(int(code) if isinstance(code, int) else 0)


def _end(code: int) -> None:
    """End with this code. An interrupt that met code compiled from text, as dataclasses have, would change it."""
    if end_in_peace():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def describe(error: Exception) -> tuple[str, int]:
    """What to say about an error, and how to end."""
    if isinstance(error, PowercutError):
        return str(error), error.exit_code
    if isinstance(error, click.ClickException):
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "powercut"
        text = error.format_message()
        end = "" if text.endswith((".", "?", ")")) else "."
        return f"{text[:1].lower()}{text[1:]}{end} See {path} --help [usage]", ExitCode.USAGE
    if isinstance(error, OSError) and error.strerror:
        where = f": {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
        return f"{error.strerror}{where} [system-error]", ExitCode.FAILED
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "Please report it; POWERCUT_DEBUG=1 shows more."
    return f"this is a bug in powercut: {what} ({place}). {hint} [bug]", ExitCode.FAILED


def stop_printing() -> None:
    """Nobody reads standard output any more: what is still to be printed goes nowhere."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)


def complain(text: str, code: int) -> int:
    """Say what went wrong; the exit code."""
    from powercut.printable import printable

    with suppress(OSError):  # standard error may be closed or full; the exit code still tells
        click.echo(f"powercut: {printable(text)}", err=True)
    return code


def _open_missing_descriptors() -> None:
    """A file of ours must never become the standard input or output of a program that we start."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError as error:
            if error.errno == errno.EBADF:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
                name = ("stdin", "stdout", "stderr")[number]
                setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
