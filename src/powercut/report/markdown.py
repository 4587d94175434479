"""A Markdown summary: for the page of a CI job, a merge request, or an issue.

Text from outside is either in a code block that it cannot end, or has every character of markup escaped.
"""

from __future__ import annotations

import html
import re
from itertools import groupby

from powercut.printable import one_line, printable
from powercut.report.formats import Setting
from powercut.report.lint import what_bugs_mean
from powercut.report.problems import Level, Outcome, Problem, extent, problems, verdict
from powercut.runs.store import SavedRun

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+.!|~-])")
_MARKS = {Outcome.PASSED: "✅", Outcome.FAILED: "❌", Outcome.UNKNOWN: "⚠️"}
_HEADS = {
    Level.ERROR: "Findings",
    Level.WARNING: "Likely bugs",
    Level.NOTE: "Warnings",
}


def render(run: SavedRun, setting: Setting) -> bytes:
    """The run as Markdown."""
    found = problems(run)
    outcome, words = verdict(run)
    new = [problem for problem in found if problem.known is None]
    parts = [f"## powercut: {_MARKS[outcome]} {_escaped(words)}", _escaped(extent(run))]
    for level, group in groupby(sorted(new, key=lambda problem: list(Level).index(problem.level)), lambda p: p.level):
        several = list(group)
        of_lint = f" (lint; {what_bugs_mean([bug.confirmed for bug in several])})" if level is Level.WARNING else ""
        parts += [f"### {_HEADS[level]}{of_lint}", _table(several)]
        parts += [_details(problem) for problem in several if level is Level.ERROR]
    known = [problem for problem in found if problem.known is not None]
    if known:
        lines = [f"- {_escaped(f'{problem.id} {problem.title}: {problem.known}')}" for problem in known]
        parts += ["### In the baseline", "\n".join(lines)]
    if run.notes:
        parts += ["### Notes", "\n".join(f"- {_escaped(note)}" for note in run.notes)]
    return ("\n\n".join(parts) + "\n").encode()


def _table(several: list[Problem]) -> str:
    lines = ["| id | what | where |", "|---|---|---|"]
    for problem in several:
        place = _escaped(problem.place.short) if problem.place else ""
        confirmed = f" (confirmed by finding {problem.confirmed})" if problem.confirmed is not None else ""
        lines.append(f"| {_escaped(problem.id)} | {_escaped(problem.title + confirmed)} | {place} |")
    return "\n".join(lines)


def _details(problem: Problem) -> str:
    text = printable(problem.text)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    head = f"<summary>{html.escape(one_line(f'{problem.id}: {problem.message}'))}</summary>"  # no Markdown in there
    return f"<details>{head}\n\n{fence}text\n{text}\n{fence}\n\n</details>"


def _escaped(text: str) -> str:
    """Text that means only itself."""
    return html.escape(_MARKUP.sub(r"\\\1", one_line(text)), quote=False).replace("@", "&#64;")
