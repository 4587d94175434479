"""`powercut init`: run a program once and write settings and a first check for it."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

import click

from powercut.commands.options import ANY_FOLDER, settings_from, workload_argument
from powercut.errors import UsageError

_SETTINGS = "powercut.toml"


@click.command("init")
@click.option("--dir", metavar="DIR", type=click.Path(file_okay=False), help="The data folder (default: detected).")
@ANY_FOLDER
@click.option("--force", is_flag=True, help="Overwrite powercut.toml; an existing check is always kept.")
@workload_argument
def command(workload: tuple[str, ...], dir: str | None, any_folder: bool | None, force: bool) -> int:
    """Run a program once, and write settings and a first check.

    init writes powercut.toml and powercut_check.py, both with comments. The program runs on a private copy of the
    folder, so your files do not change.

    \b
    powercut init -- python3 save_settings.py
    powercut init --dir data -- ./store fill data
    """
    from powercut.report.terminal import Terminal
    from powercut.runs.store import write_durably
    from powercut.runs.workspace import Workspace
    from powercut.starter.first_files import CHECK, check_text, settings_text
    from powercut.starter.survey import survey

    target = Path(_SETTINGS)
    if os.path.lexists(target) and not force:
        raise UsageError("settings-exist", f"{target} already exists.", "Use --force to overwrite it.")
    settings, cwd = settings_from({"dir": dir, "any_folder": any_folder})
    with Terminal() as terminal, tempfile.TemporaryDirectory(prefix="powercut-init-") as folder:
        found = survey(Workspace(settings, cwd, terminal.tell).record(workload, Path(folder) / "trace"))
    where = str(Path(settings.dir or ".") / found.folder)
    if not os.path.lexists(CHECK):
        write_durably(Path(CHECK), check_text(found).encode())
    else:
        click.echo(f"Kept the existing {CHECK}.")
    write_durably(target, settings_text(found, workload, where).encode())
    click.echo(f"{_SETTINGS} and {CHECK} are ready. Next: powercut test -- {shlex.join(workload)}")
    return 0
