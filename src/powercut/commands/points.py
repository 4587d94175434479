"""`powercut points`: show the failure points of a trace."""

from __future__ import annotations

import click

from powercut.commands.options import MEMORY_HELP


@click.command("points")
@click.argument("trace", metavar="TRACE", type=click.Path(dir_okay=False))
@click.option(
    "--granularity",
    type=click.Choice(["persistency", "store"]),
    default="persistency",
    show_default=True,
    help="Which calls are failure points.",
)
@click.option("--memory", metavar="NAME", help=MEMORY_HELP)
@click.option("--curve", is_flag=True, help="Also print how many were known after each twentieth of the run.")
def command(trace: str, granularity: str, memory: str | None, curve: bool) -> int:
    """Show the failure points of a recorded program as a tree.

    A failure point is a flush, fence or sync with a change before it, counted once per call stack. With --granularity
    store, every store or write is one. powercut test kills the program, in the model, at each failure point.

    \b
    powercut record -o run.trace --dir data -- ./store fill data
    powercut points run.trace
    powercut points --curve run.trace     were new ones still found at the end?
    """
    from powercut.findings.places import Places
    from powercut.model.filesystem import DEFAULT, file_systems
    from powercut.model.memory import AUTO
    from powercut.report.point_tree import draw_tree
    from powercut.states.failure_points import Granularity, coverage_curve, failure_points
    from powercut.states.timeline import Timeline
    from powercut.trace.reader import Trace

    opened = Trace.open(trace)
    timeline = Timeline(opened, file_systems(DEFAULT, memory or AUTO.name)[0])
    points = failure_points(timeline, Granularity(granularity))
    for line in draw_tree(Places(opened), points):
        click.echo(line)
    for events, known in coverage_curve(timeline, points) if curve else ():
        click.echo(f"{events:>10} events {known:>6} failure points")
    return 0
