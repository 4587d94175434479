"""A whole run as text: its findings, what lint reports, and at its end the summary, which can be read alone."""

from __future__ import annotations

import shlex
from pathlib import Path

from powercut.errors import PowercutError
from powercut.findings.sources import Sources, reading
from powercut.printable import one_line, printable
from powercut.report.assertions import check_text
from powercut.report.finding_text import baseline_text, explain
from powercut.report.lint import section
from powercut.report.paint import PLAIN, Paint, Role
from powercut.report.problems import changed_sources
from powercut.report.race import raced_text
from powercut.report.source import changes_told
from powercut.report.summary import behaviors_text, models_words, next_commands, stages_text, summary_line
from powercut.runs.store import NO_BUDGET, NO_STATES, SavedRun
from powercut.trace.reader import Trace


def run_text(run: SavedRun, folder: Path, paint: Paint = PLAIN, *, verbose: bool = False) -> str:
    """What a command prints at its end, with the sources that the run has kept; `verbose`: with its behaviors."""
    with reading(Sources(folder)):
        changed = changed_sources(run)
        note = paint(Role.WARNING, f"Note: {printable(changes_told(changed))}") if changed else ""
        if run.assertions:
            return _joined([note, check_text(run, folder)])
        if run.race:
            return _joined([note, raced_text(run, folder, paint)])
        more = [behaviors_text(run), stages_text(run), _environment_text(folder)] if verbose else []
        return _joined([*_parts(run, folder, paint), *more, note, _end(run, folder, paint)])


def _environment_text(folder: Path) -> str:
    """What was put into the program's environment, for runtimes to tell lines."""
    try:
        put_in = Trace.open(folder / "trace").meta.get("environment", b"")
    except PowercutError:
        return ""
    variables = [one_line(word) for word in put_in.decode("utf-8", "replace").split("\0") if word]
    return "\n".join(["Put into the program's environment:", *(f"  {word}" for word in variables)]) if variables else ""


def _parts(run: SavedRun, folder: Path, paint: Paint) -> list[str]:
    """Findings, what the baseline knows, what lint reports, and what to do next."""
    trace = shlex.quote(str(folder / "trace"))
    return [
        *(explain(finding, paint) for finding in run.findings if finding.known is None),
        baseline_text(run.findings),
        section(run.misuses, trace, paint) if run.misuses else "",
        *(paint(Role.WARNING, _sentence(note)) for note in run.notes if note in (NO_BUDGET, NO_STATES)),
        next_commands(run, folder, paint),
    ]


def _end(run: SavedRun, folder: Path, paint: Paint) -> str:
    lines = [models_words(run), f"Saved in {one_line(str(folder))}"]
    if run.interrupted:
        go_on = f"; continue with: powercut resume {folder.name}" if run.function is None else ""
        lines.append(paint(Role.WARNING, f"Interrupted. Results so far are saved{go_on}"))
    return "\n".join([*lines, summary_line(run, paint)])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part)
