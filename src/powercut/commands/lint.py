"""`powercut lint`: find missing and redundant syncs in a trace, without testing crash states."""

from __future__ import annotations

import click

from powercut.commands.options import JSON_OPTION, MEMORY_HELP, baseline_options, settings_from


@click.command("lint")
@click.argument("trace_file", metavar="TRACE", type=click.Path(dir_okay=False))
@click.option("--memory", metavar="NAME", help=MEMORY_HELP)
@click.option("--warnings/--no-warnings", default=True, help="Show warnings, too (default: yes).")
@baseline_options
@JSON_OPTION
def command(
    trace_file: str,
    memory: str | None,
    warnings: bool,
    baseline: str | None,
    write_baseline: bool,
    json_file: str | None,
) -> int:
    """Find missing and redundant flushes, fences and syncs.

    Exits with 1 if there are bugs that are not in the baseline; warnings do not count.

    \b
    powercut record -o run.trace --dir pool -- ./store fill pool/data
    powercut lint run.trace
    powercut lint --memory eadr --no-warnings --json lint.json run.trace
    """
    from powercut.commands.outcome import write_report
    from powercut.errors import ExitCode
    from powercut.findings.baseline import unmarked
    from powercut.lint.analysis import analyse, gaps
    from powercut.lint.patterns import PATTERNS
    from powercut.model.memory import memory as memory_row
    from powercut.report.lint import lint_document, lint_text
    from powercut.report.terminal import Terminal
    from powercut.runs.apply_baseline import apply_baseline
    from powercut.search.events import Said
    from powercut.trace.reader import Trace

    settings, cwd = settings_from({"memory": memory, "baseline": baseline})
    trace = Trace.open(trace_file, opened=False)
    row, kinds = memory_row(settings.memory), {pattern.name for pattern in PATTERNS}
    with Terminal() as terminal:
        notes = gaps(trace)
        for note in notes:
            terminal.tell(Said(note, warning=True))
        everything = analyse(trace, row)
        shown = everything if warnings else everything.without_warnings()
        baseline_file = cwd / settings.baseline
        told = apply_baseline(
            baseline_file, shown.misuses, kinds, terminal.tell, everything.misuses, write=write_baseline
        )
    report = lint_document(shown, trace, trace_file, row, [*notes, *told])
    code = int(ExitCode.FINDINGS if unmarked(shown.bugs) else ExitCode.NOTHING_FOUND)
    return write_report(lint_text(shown, row), report, json_file, code)
