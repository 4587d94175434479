"""The `powercut` command: its subcommands, and how errors end."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version

import click

from powercut.errors import ExitCode, PowercutError

COMMANDS = ("test", "record", "explore", "show", "replay", "doctor")


class LazyGroup(click.Group):
    """Loads the module of a command when it is used; the first line of its docstring is its short help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"powercut.commands.{cmd_name}").command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("powercut"), prog_name="powercut")
def cli() -> None:
    """Find what a power cut would do to your program's data, and the missing sync behind it.

    \b
    powercut test --check ./check.py -- ./myprogram args
    """


def main() -> None:
    """Run the command line; every error that powercut understands is one line and an exit code."""
    try:
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except PowercutError as error:
        click.echo(f"powercut: {error}", err=True)
        sys.exit(int(error.exit_code))
    except click.ClickException as error:
        error.show()
        sys.exit(int(ExitCode.USAGE))
    except (click.Abort, KeyboardInterrupt):
        click.echo("powercut: interrupted [interrupted]", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(int(ExitCode.FAILED))
    except OSError as error:
        click.echo(f"powercut: {error.strerror}: {error.filename or 'the system'} [system-error]", err=True)
        sys.exit(int(ExitCode.FAILED))
