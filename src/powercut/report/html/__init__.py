"""The HTML report: one file that any browser shows, without a network and without trust in what it shows.

Everything from the run is text, escaped by the template; pictures are images, in which nothing runs; and the page's own
policy allows the one script that belongs to it, by its hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from powercut.printable import printable
from powercut.report.formats import Setting
from powercut.report.html.evidence import EvidenceRoom
from powercut.report.html.section import Material, Section
from powercut.report.html.sections import SECTIONS
from powercut.report.html.sections.coverage import bars
from powercut.report.problems import Level, Outcome, extent, problems, verdict
from powercut.runs.store import SavedRun

_HERE = Path(__file__).parent


def render(run: SavedRun, setting: Setting) -> bytes:
    """The run as a page."""
    room = EvidenceRoom(setting.folder)
    material = Material(run, problems(run), room, setting.root)
    sections = [made for section in SECTIONS if (made := section(material)) is not None]
    outcome, words = verdict(run)
    levels = Counter(problem.level for problem in material.problems)
    interrupted = ["The search was interrupted: there may be more to find."] if run.interrupted else []
    return page(
        words,
        extent(run),
        outcome,
        sections,
        cautions=[*interrupted, *room.missing],
        bars=bars(run.states),
        levels=[(level.value, level.label, levels[level]) for level in Level if levels[level]],
    )


def page(title: str, lead: str, outcome: Outcome, sections: Sequence[Section], **more: Any) -> bytes:
    """A page of sections; `more` are cautions, bars of states and levels of problems, where there are any."""
    script = own_text("page.js")
    given = {"cautions": [], "bars": [], "levels": [], **more}
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            verdict=title,
            extent=lead,
            outcome=outcome.value,
            sections=sections,
            style=Markup(own_text("page.css")),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            **given,
        )
    )
    return text.encode()


def own_text(name: str) -> str:
    """A file of ours that becomes part of the page as it is."""
    return (_HERE / name).read_text(encoding="utf-8")


@cache
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
