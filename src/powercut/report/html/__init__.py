"""The HTML report: one file that any browser shows, without a network and without trust in what it shows.

Everything from the run is text, escaped by the template; pictures are images, in which nothing runs; and the page's own
policy allows the one script that belongs to it, by its hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from powercut.report.formats import Setting
from powercut.report.html.evidence import EvidenceRoom
from powercut.report.html.excerpts import excerpts
from powercut.report.problems import Level, Problem, extent, problems, verdict
from powercut.report.text import printable
from powercut.run.store import SavedRun

_HERE = Path(__file__).parent


def render(run: SavedRun, setting: Setting) -> bytes:
    """The run as a page."""
    room = EvidenceRoom(setting.folder)
    findings = {finding.id: finding for finding in run.findings}
    entries = [_entry(problem, room, findings.get(problem.id)) for problem in problems(run)]
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    page = _environment().get_template("page.html.j2")
    text = page.render(
        run=run,
        entries=entries,
        coverage=extent(run),
        bars=_bars(run.states),
        verdict=verdict(run)[1],
        missing=room.missing,
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        levels=[level.value for level in Level],
    )
    return text.encode()


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_control_characters,
    )


def _without_control_characters(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _entry(problem: Problem, room: EvidenceRoom, finding: Any) -> dict[str, Any]:
    """What the page shows of one problem."""
    return {
        "problem": problem,
        "finding": finding,
        "places": [(location, excerpts(location)) for location in problem.locations],
        "evidence": room.evidence(finding) if finding is not None else None,
    }


def _bars(states: dict[str, Any]) -> list[tuple[str, int]]:
    """How the states divide, as far as that is known; a part that nobody counted is left out."""
    names = {"known": "known from earlier runs"}
    parts = ("tested", "known", "equal", "equivalent", "left")
    return [(names.get(part, part), int(states[part])) for part in parts if states.get(part)]
