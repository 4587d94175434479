"""The reference of commands: what `powercut COMMAND --help` says, as Markdown."""

from __future__ import annotations

import inspect

import click

from powercut.commands.main import COMMANDS, cli

_EXAMPLES = "\b\n"  # click's mark of a paragraph that is not wrapped: here, examples


def reference() -> str:
    """A section for each command."""
    return "\n\n".join(_section(name) for name in COMMANDS)


def _section(name: str) -> str:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"powercut {name} is listed"
    ctx = click.Context(command, info_name=f"powercut {name}")
    usage = command.get_usage(ctx).removeprefix("Usage: ").replace("\n", " ")
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    parts = [f"## powercut {name}", f"```text\n{' '.join(usage.split())}\n```", *map(_paragraph, paragraphs)]
    return "\n\n".join([*parts, _options(command, ctx)])


def _paragraph(text: str) -> str:
    if not text.startswith(_EXAMPLES):
        return text
    return f"```sh\n{inspect.cleandoc(text.removeprefix(_EXAMPLES))}\n```"


def _options(command: click.Command, ctx: click.Context) -> str:
    records = [record for option in command.get_params(ctx) if (record := option.get_help_record(ctx))]
    rows = [f"| `{names}` | {text.replace('|', chr(92) + '|')} |" for names, text in records]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])
