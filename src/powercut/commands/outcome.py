"""What every exploring command does at its end: print the findings, write the reports, choose the exit code.

One report that cannot be written does not keep the others from being written; it is said, and the exit code tells.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from powercut.commands.main import INTERRUPTED, complain, describe, stop_printing
from powercut.quick_dataclass import dataclass
from powercut.report.formats import FORMATS, Setting, format_named
from powercut.report.paint import paint_for
from powercut.report.run_text import run_text
from powercut.runs.store import SavedRun, to_json, write_durably
from powercut.testing.run_figures import exit_code

STANDARD_OUTPUT = "-"
Action = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outputs:
    """The reports that the command line asks for.

    Attributes:
        files: pairs of a format's name and a file.
        annotate: whether annotations of GitHub are printed, too.
    """

    files: tuple[tuple[str, str], ...] = ()
    annotate: bool = False

    def __post_init__(self) -> None:
        if sum(file == STANDARD_OUTPUT for _, file in self.files) > 1:
            raise click.UsageError("Only one report can go to standard output.")

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Outputs:
        """What the options of `report_options` say; they are removed, so that settings are left."""
        named = [(form.name, options.pop(f"{form.name}_file", None)) for form in FORMATS]
        return cls(tuple((name, file) for name, file in named if file), bool(options.pop("github", False)))

    def also(self, name: str | None, file: str) -> Outputs:
        """These and one more, if it has a name."""
        return self if name is None else Outputs((*self.files, (name, file)), self.annotate)

    def only_json(self) -> str | None:
        """The file of the JSON report, where no other form is made."""
        if self.annotate or any(name != "json" for name, _ in self.files):
            raise click.UsageError("What powercut check has written can be reported with --json only.")
        return self.files[0][1] if self.files else None

    @property
    def in_pipe(self) -> bool:
        """Whether a report has standard output for itself."""
        return any(file == STANDARD_OUTPUT for _, file in self.files)


def report_run(run: SavedRun, folder: Path, outputs: Outputs, *, verbose: bool = False) -> int:
    """Report a finished run; its exit code.

    Findings count even if the search was interrupted; a search that was interrupted with nothing found says nothing.
    """
    code = INTERRUPTED if run.interrupted and not run.new_findings else int(exit_code(run))
    paint = paint_for(sys.stderr if outputs.in_pipe else sys.stdout)
    text = partial(click.echo, run_text(run, folder, paint, verbose=verbose), err=outputs.in_pipe)
    return do_all([text, *report_actions(run, folder, outputs)], code)


def report_actions(run: SavedRun, folder: Path, outputs: Outputs) -> list[Action]:
    """What writes the reports of a run, one by one."""
    setting = Setting(Path.cwd(), folder)
    wanted = [(name, file, False) for name, file in outputs.files]
    if outputs.annotate:
        wanted.insert(0, ("github", STANDARD_OUTPUT, outputs.in_pipe))
    return [partial(write, partial(_rendered, name, run, setting), file, err=err) for name, file, err in wanted]


def _rendered(name: str, run: SavedRun, setting: Setting) -> bytes:
    return format_named(name).render(run, setting)


def write_report(text: str, report: dict[str, Any], json_file: str | None, code: int) -> int:
    """Print a report, and write its JSON to a file or, with the text out of the way, to standard output."""
    actions: list[Action] = [partial(click.echo, text, err=json_file == STANDARD_OUTPUT)]
    if json_file is not None:
        actions.append(partial(write, partial(to_json, report), json_file))
    return do_all(actions, code)


def do_all(actions: Sequence[Action], code: int) -> int:
    """Do each, whatever becomes of the others; the exit code, which is that of the last one that failed."""
    for action in actions:
        try:
            action()
        except BrokenPipeError:
            stop_printing()  # the exit code still tells, and the findings are saved
        except Exception as error:
            code = complain(*describe(error))
    return code


def write(render: Callable[[], bytes], file: str, *, err: bool = False) -> None:
    """Write a report to a file, or to standard output."""
    if file == STANDARD_OUTPUT:
        click.echo(render(), nl=False, err=err)
    else:
        write_durably(Path(file), render())
