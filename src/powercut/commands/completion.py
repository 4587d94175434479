"""`powercut completion`: print a script with which a shell completes powercut's commands, options and names."""

from __future__ import annotations

import os
from pathlib import Path

import click

SHELLS = ("bash", "zsh", "fish")
_WHOLE_WORDS = ('string split ","', 'string split --max 1 ","')  # click's script cuts `xfs,btrfs` after xfs


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def command(shell: str | None) -> int:
    """Print a shell completion script.

    It completes commands, options, models and saved runs. Without an argument, powercut takes the shell from $SHELL.

    \b
    powercut completion bash > ~/.local/share/bash-completion/completions/powercut
    powercut completion zsh > ~/.zfunc/_powercut      with fpath+=~/.zfunc before compinit
    powercut completion fish > ~/.config/fish/completions/powercut.fish
    """
    from click.shell_completion import get_completion_class

    from powercut.commands.main import COMPLETE_VARIABLE, cli

    shell = shell or _login_shell()
    found = get_completion_class(shell)
    assert found is not None, "click knows the three shells"
    script = found(cli, {}, "powercut", COMPLETE_VARIABLE).source()
    click.echo(script.replace(*_WHOLE_WORDS) if shell == "fish" else script, nl=False)
    return 0


def _login_shell() -> str:
    """The user's shell, as $SHELL names it."""
    path = os.environ.get("SHELL", "")
    name = Path(path).name
    if name in SHELLS:
        return name
    why = f"$SHELL is {path}, which is not supported" if path else "$SHELL is not set"
    raise click.UsageError(f"Name your shell: bash, zsh or fish ({why}).")
