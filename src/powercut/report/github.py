"""Annotations of GitHub Actions: a line for each problem that is not known, which the runner shows at its source line.

Names and messages are escaped, so that no text of the tested program becomes a command of the runner.
"""

from __future__ import annotations

from pathlib import PurePath

from powercut.printable import printable
from powercut.report.formats import Setting
from powercut.report.problems import Level, Problem, problems
from powercut.runs.store import SavedRun

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(run: SavedRun, setting: Setting) -> bytes:
    """The annotations of a run, one in each line."""
    lines = [_annotation(problem, setting) for problem in problems(run) if problem.known is None]
    return "".join(f"{line}\n" for line in lines).encode()


def _annotation(problem: Problem, setting: Setting) -> str:
    properties = {"title": f"powercut {problem.id}: {problem.title}"}
    if problem.place is not None and problem.place.file:
        path = PurePath(problem.place.file)
        relative = path.relative_to(setting.root) if path.is_relative_to(setting.root) else path
        properties["file"] = str(relative)
        if problem.place.line:
            properties["line"] = str(problem.place.line)
    listed = ",".join(f"{key}={printable(value).translate(_PROPERTY)}" for key, value in properties.items())
    advice = f"\n{'fix' if problem.verified else 'suggestion'}: {problem.advice}" if problem.advice else ""
    replay = f"\nreplay: {problem.replay}" if problem.replay else ""
    words = printable(f"{problem.message}{advice}{replay}").translate(_DATA)
    return f"::{_COMMANDS[problem.level]} {listed}::{words}"
