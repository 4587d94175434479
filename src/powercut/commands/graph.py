"""`powercut graph`: draw which updates must persist before which, and which survived."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from powercut.commands.options import MEMORY_HELP, OUTPUT_HELP, saved_runs

if TYPE_CHECKING:
    from powercut.states.timeline import Timeline


@click.command("graph")
@click.argument("what", metavar="FINDING | TRACE")
@click.option("-o", "--svg", metavar="FILE", type=click.Path(dir_okay=False), help="Write the picture to this file.")
@click.option("--behavior", type=click.IntRange(min=1), metavar="N", help="For a trace: draw behavior N of the list.")
@click.option("--fs", metavar="NAME", help="For a trace: the file-system model (default ext4-ordered).")
@click.option("--memory", metavar="NAME", help=MEMORY_HELP)
@click.option("--output", metavar="DIR", help=OUTPUT_HELP)
def command(
    what: str, svg: str | None, behavior: int | None, fs: str | None, memory: str | None, output: str | None
) -> int:
    """Draw which updates must persist before which, as SVG.

    For a finding, graph draws the behavior in which it happened: what survived is green, what was lost is red. For a
    trace, it lists the representative behaviors; with -o, it draws one of them.

    \b
    powercut graph 3f9a -o finding.svg
    powercut graph run.trace                          the list
    powercut graph run.trace --behavior 3 -o third.svg
    """
    from powercut.runs.store import write_durably

    if Path(what).is_file():
        picture = _of_trace(_timeline(what, fs, memory), behavior, svg is not None)
    elif svg is None:
        raise click.UsageError("Choose a file for the picture with -o.")
    else:
        picture = _of_finding(what, saved_runs(output))
    if svg is not None:
        write_durably(Path(svg), picture.encode())
        click.echo(f"Wrote {svg}.")
    return 0


def _timeline(path: str, fs: str | None, memory: str | None) -> Timeline:
    from powercut.model.filesystem import DEFAULT, file_systems
    from powercut.model.memory import AUTO
    from powercut.states.timeline import Timeline
    from powercut.trace.reader import Trace

    return Timeline(Trace.open(path), file_systems(fs or DEFAULT, memory or AUTO.name)[0])


def _of_trace(timeline: Timeline, number: int | None, draws: bool) -> str:
    """List the behaviors, or draw one."""
    from powercut.report.graph import draw_graph, list_behaviors
    from powercut.states.behaviors.find import representatives_of

    found = representatives_of(timeline)
    if not draws:
        for line in list_behaviors(found):
            click.echo(line)
        return ""
    if not found.groups or (number or 1) > len(found.groups):
        raise click.UsageError(f"There is no behavior {number or 1}: the trace has {len(found.groups)}.")
    some = found.groups[(number or 1) - 1]
    updates = [update for unit in some.representative.updates(found.operations) for update in unit]
    return draw_graph(timeline, updates, f"behavior {number or 1}, {some.representative.what}")


def _of_finding(name: str, output: Path) -> str:
    from powercut.report.graph import draw_graph
    from powercut.runs.replay import rebuild
    from powercut.runs.store import find_finding
    from powercut.states.behaviors.around import behavior_around

    folder, _, finding = find_finding(output, name)
    timeline, state = rebuild(folder, finding)
    return draw_graph(timeline, behavior_around(timeline, state), f"{finding.id}: {finding.message}", state)
