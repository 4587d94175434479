"""`powercut completion`: the script with which a shell completes powercut's commands, options and names."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
_WHOLE_WORDS = ('string split ","', 'string split --max 1 ","')  # click's script cuts `xfs,btrfs` after xfs


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print a script that makes the Tab key know powercut.

    It completes commands, options, models and saved runs.

    \b
    powercut completion bash > ~/.local/share/bash-completion/completions/powercut
    powercut completion zsh > ~/.zfunc/_powercut      with fpath+=~/.zfunc before compinit
    powercut completion fish > ~/.config/fish/completions/powercut.fish
    """
    from click.shell_completion import get_completion_class

    from powercut.commands.main import COMPLETE_VARIABLE, cli

    found = get_completion_class(shell)
    assert found is not None, "click knows the three shells"
    script = found(cli, {}, "powercut", COMPLETE_VARIABLE).source()
    click.echo(script.replace(*_WHOLE_WORDS) if shell == "fish" else script, nl=False)
    return 0
