"""`powercut match`: whether a folder is a state that a power cut could have left of a recorded run."""

from __future__ import annotations

import click

from powercut.commands.names import complete_file_systems, complete_memories
from powercut.commands.options import JSON_OPTION


@click.command("match")
@click.argument("trace_file", metavar="TRACE", type=click.Path(dir_okay=False))
@click.option("--image", metavar="DIR", required=True, help="The data folder as the power cut left it.")
@click.option(
    "--fs",
    metavar="NAMES",
    default="all",
    show_default=True,
    shell_complete=complete_file_systems,
    help="File systems.",
)
@click.option(
    "--memory", metavar="NAME", default="auto", shell_complete=complete_memories, help="Mapped memory (default auto)."
)
@click.option("--after", metavar="TEXT", help="A line that was printed before the cut; or an event's number.")
@click.option("--before", metavar="TEXT", help="A line that was not printed yet; or an event's number.")
@JSON_OPTION
def command(
    trace_file: str, image: str, fs: str, memory: str, after: str | None, before: str | None, json_file: str | None
) -> int:
    """Tell whether a folder is what a power cut could have left of a run.

    Says on which file systems the folder is possible, when the power can have been cut, what survived and what was
    lost; or the nearest possible state that was found, and where the folder differs from it. Names, kinds, permission
    bits, sizes, bytes, targets of links and attributes of the user count; owners and times do not.

    Exits with 0 if the folder is possible on one of the file systems, 1 if it is on none, 3 if the trace does not hold
    enough to know (it was cut short, say), 4 if the search was given up.

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
