"""`powercut match`: tell whether a power cut during a recorded run could have left a folder."""

from __future__ import annotations

import click

from powercut.commands.names import complete_file_systems, complete_memories
from powercut.commands.options import JSON_OPTION, MEMORY_HELP


@click.command("match")
@click.argument("trace_file", metavar="TRACE", type=click.Path(dir_okay=False))
@click.option("--image", metavar="DIR", required=True, help="The data folder as the power cut left it.")
@click.option(
    "--fs",
    metavar="NAMES",
    default="all",
    show_default=True,
    shell_complete=complete_file_systems,
    help="File-system models, separated by commas.",
)
@click.option("--memory", metavar="NAME", default="auto", shell_complete=complete_memories, help=MEMORY_HELP)
@click.option("--after", metavar="TEXT", help="A line the program had printed before the cut, or an event number.")
@click.option("--before", metavar="TEXT", help="A line the program had not printed yet, or an event number.")
@JSON_OPTION
def command(
    trace_file: str, image: str, fs: str, memory: str, after: str | None, before: str | None, json_file: str | None
) -> int:
    """Tell whether a power cut could have left a folder.

    match prints on which file systems the folder is possible, when the power may have been cut, what survived and
    what was lost. If the folder is impossible, it prints the nearest possible state it found and the differences. It
    compares names, types, permissions, sizes, contents, link targets and user attributes, but not owners and times.

    Exits with 0 if the folder is possible on one of the file systems, 1 if it is on none, 3 if the trace contains too
    little to decide (for example, because it is truncated), 4 if the search gave up.

    \b
    powercut record -o run.trace --dir data -- ./store fill data
    powercut match run.trace --image from-the-field
    powercut match run.trace --image broken --fs xfs --after "commit 3" --before "commit 4"
    """
    from powercut.commands.outcome import write_report
    from powercut.matching.ask import match
    from powercut.printable import printable
    from powercut.report.match import exit_code, match_document, match_text

    result = match(trace_file, image, fs, after=after, before=before, memory=memory)
    for note in result.notes:
        click.echo(f"powercut: warning: {printable(note)}", err=True)
    report = match_document(result, trace_file, image)
    return write_report(match_text(result, image), report, json_file, int(exit_code(result)))
