"""`powercut points`: the failure points of a trace."""

from __future__ import annotations

import click


@click.command("points")
@click.argument("trace", metavar="TRACE", type=click.Path(dir_okay=False))
@click.option("--granularity", type=click.Choice(["persistency", "store"]), default="persistency", show_default=True)
@click.option("--memory", metavar="NAME", help="Mapped memory: px86, eadr, page-cache, or auto (default).")
@click.option("--curve", is_flag=True, help="Say how many were known after each twentieth of the run.")
def command(trace: str, granularity: str, memory: str | None, curve: bool) -> int:
    """Draw the failure points of a recorded program as a tree.

    A failure point is a flush, fence or sync call with a change before it, once for each call stack; with
    --granularity store, every store or write. `powercut test` kills the program, in the model, at each of them.

    \b
    powercut record -o run.trace --dir data -- ./store fill data
    powercut points run.trace
    powercut points --curve run.trace     has the workload reached all there are?
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
