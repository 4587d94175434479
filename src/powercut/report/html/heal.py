"""The page of a healing: the plan, the attempts, what came of it.

Before: the JSON report of `powercut heal`, of which nothing is trusted. After: one file for any browser.
"""

from __future__ import annotations

import shlex

from powercut.printable import counted
from powercut.report.heal_document import HealDocument, HealOutcome
from powercut.report.html import page
from powercut.report.html.section import Section
from powercut.report.problems import Outcome

_TITLES = {
    HealOutcome.PLANNED: "Plan only; nothing was tried",
    HealOutcome.EMPTY: "Nothing in the pool led to the failure",
    HealOutcome.FAILED: "Not healed: no step of the plan helps",
    HealOutcome.DECLINED: "A way that helps was found; the pool is unchanged",
    HealOutcome.INTERRUPTED: "Interrupted before anything helped; the pool is unchanged",
    HealOutcome.WELL: "The service works; the pool is unchanged",
    HealOutcome.HEALED: "Healed",
}
_COLOURS = {HealOutcome.HEALED: Outcome.PASSED, HealOutcome.WELL: Outcome.PASSED, HealOutcome.FAILED: Outcome.FAILED}


def render(report: HealDocument) -> bytes:
    """The page."""
    outcome = _COLOURS.get(report.outcome, Outcome.UNKNOWN)
    sections = [
        Section("plan", "Plan", len(report.steps), {"report": report}),
        Section("attempts", "Attempts", len(report.attempts), {"attempts": report.attempts}),
        Section("about", "About this healing", None, {"facts": _facts(report), "notes": _notes(report)}),
    ]
    return page(_TITLES[report.outcome], _lead(report), outcome, sections)


def _lead(report: HealDocument) -> str:
    began = f"restarted on a copy, the service {report.failure}"
    found = report.healing
    if found is None:
        return began
    return (
        f"{began}; without {found.updates:,} of {report.updates:,} updates ({found.percent:.2g} %, {found.bytes:,} "
        f"bytes) it works: {found.mode}, {counted(len(report.attempts), 'attempt')}, {found.seconds:,.1f} s"
    )


def _facts(report: HealDocument) -> list[tuple[str, str]]:
    facts = [
        ("pool", report.pool),
        ("log", report.log),
        ("restart", shlex.join(report.command)),
        ("undo", f"powercut heal --undo {shlex.quote(report.undo)}" if report.undo else ""),
        ("powercut", report.version),
    ]
    return [fact for fact in facts if fact[1]]


def _notes(report: HealDocument) -> list[str]:
    lost_track = "Part of what happened could not be traced: the plan may be incomplete."
    notes = [lost_track] if report.incomplete else []
    if report.tainted is not None:
        what = "the steps may have nothing to do with the failure"
        notes.append(f"In the memory tracer, the restart {report.tainted}: {what}.")
    if report.healing is not None and report.healing.cut_short:
        notes.append("The search ended early: less may be enough.")
    return notes
