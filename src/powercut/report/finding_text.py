"""Findings as text for people."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from powercut.findings.finding import Finding, Location, Race, Tried, TriedOutcome
from powercut.oracle.verdict import Outcome, Verdict
from powercut.printable import one_line, printable
from powercut.report.kind_texts import KINDS
from powercut.report.source import source_line
from powercut.runs.store import MORE_TIME, NO_BUDGET, NO_STATES, BehaviorCounts, SavedRun, covered
from powercut.states.estimate import Estimate

_WIDTH = 110
_VERIFIED = {
    "model": "verified in the model",
    "check": "verified: the check accepts that order",
}
_CUT_SHORT = f"provisional: time ran out before its cause was known, so that it has no id yet. {MORE_TIME}."
_STACK_LINES = 12  # of the stack of a check that died, or of a thread in a race
_OUTPUT_LINES = 8  # of what the check said


def summary(run: SavedRun, folder: Path, analysis: str = "") -> str:
    """All findings of a run and how much was tested; what the trace analysis says, if anything."""
    parts = [explain(finding) for finding in run.findings if finding.known is None]
    known = [f"{f.id}  known: {one_line(f.known)} ({f.kind.value})" for f in run.findings if f.known is not None]
    parts += ["\n".join(known)] if known else []
    parts.append(coverage_line(run))
    parts += [told] if (told := "\n".join(map(_behaviors, run.behaviors))) else []
    parts += [note for note in run.notes if note in (NO_BUDGET, NO_STATES)]
    if run.interrupted:
        parts.append(f"interrupted: what was found so far is saved{_goes_on(run, folder)}")
    parts += [analysis] if analysis else []
    parts.append(f"saved in {folder}")
    return "\n\n".join(parts[:-1]) + "\n" + parts[-1]


def coverage_line(run: SavedRun) -> str:
    """What was found, and how much was tested."""
    states, count = run.states, len(run.findings)
    known = count - len(run.new_findings)
    found = _counted(count, "finding") if count else "nothing found" if covered(states) else "nothing tested"
    found += f" ({known} known)" if known else ""
    before = f", {states['known']} known from earlier runs" if states.get("known") else ""
    open_ = (
        f", {_counted(unexplained, 'failing state')} unexplained" if (unexplained := states.get("unexplained")) else ""
    )
    follow = f", {states['equivalent']} equivalent" if states.get("equivalent") else ""
    equal = f"{states.get('equal', 0)} equal to a tested one{follow}{_left(states)}"
    tested = f"{states.get('tested', 0)} states tested{before}, {equal}"
    return f"{found}{open_}: {tested}, {run.seconds:.1f} s, model {run.model}"


def _left(states: dict[str, Any]) -> str:
    """What is left, of how many."""
    if states.get("estimate"):
        total = Estimate(**states["estimate"])
        return f", about {total.less(covered(states)).number} left of {total}"
    if states.get("exhausted"):
        return f" of {states.get('total')}; every state was covered"
    return f", {states['left']} left of {states.get('total')}" if states.get("left") is not None else ""


def _behaviors(found: BehaviorCounts) -> str:
    """What representative testing made of the trace under one model, in a line."""
    told = f", told by {' and '.join(found.told_by)}" if found.told_by else ""
    return one_line(
        f"behaviors ({found.model}): {found.behaviors}, {found.shapes} different, in {found.groups} groups; "
        f"{found.reached} tested, {found.explored} in full, in {found.states} states{told}"
    )


def _goes_on(run: SavedRun, folder: Path) -> str:
    """How to go on with a run; a Python function cannot be called from elsewhere."""
    return f"; powercut resume {folder.name} goes on" if run.function is None else ""


def explain(finding: Finding) -> str:
    """One finding, with everything needed to understand and repeat it."""
    lines = [f"{finding.id}  {KINDS[finding.kind].title} ({finding.kind.value})", *_wrap(finding.message, 2), ""]
    for location in finding.locations:
        lines.extend(_location(location))
        lines.extend(_stack(location) if finding.race else ())
    lines.append("")
    lines.extend(_raced(finding, finding.race) if finding.race else _minimal_state(finding))
    if finding.output.strip():
        check = "check" if finding.code else "built-in check"
        lines.append(f"  the {'recovery or the check' if finding.race else check} said:")
        said = printable(finding.output.strip()).splitlines()[-_OUTPUT_LINES:]
        lines.extend(f"    | {line}" for line in said)
    if finding.recovery:
        lines.append("  the check died at:")
        lines.extend(f"    {one_line(frame)}" for frame in finding.recovery[:_STACK_LINES])
    if finding.fix is not None:
        marks = [_VERIFIED[finding.fix.by]] if finding.fix.verified else []
        marks += [f"tried: {tried_words(finding.tried)}"] if finding.tried is not None else []
        mark = f" ({'; '.join(marks)})" if marks else ""
        lines.extend(_wrap(f"{'fix' if finding.fix.verified else 'suggestion'}: {finding.fix.text}{mark}", 2))
    times = _counted(finding.occurrences, "execution" if finding.race else "failing state")
    lines.append(f"  reachable on: {', '.join(finding.models)}; {times}")
    if finding.cut_short:
        lines.extend(_wrap(_CUT_SHORT, 2))
    lines.append(f"  replay: {one_line(finding.replay)}")
    return "\n".join(lines)


def tried_words(tried: Tried) -> str:
    """What became of a finding whose fix was put in."""
    if tried.outcome is TriedOutcome.NOT_SEEN:
        return f"not seen again in {_counted(tried.states, 'state')}"
    return tried.outcome.value


def _minimal_state(finding: Finding) -> list[str]:
    if not finding.lost:
        return ["  minimal state: everything up to the crash survived; the program was cut off there"]
    state = "smallest state so far" if finding.cut_short else "minimal state"
    head = f"  {state}: everything up to the crash survived, except"
    more = len(finding.state.delta) - len(finding.lost)
    rest = [f"    - and {more} more"] if more > 0 else []
    return [head, *(f"    - {one_line(text)}" for text in finding.lost), *rest]


def _raced(finding: Finding, race: Race) -> list[str]:
    """What shows a race, and what it takes to see it again."""
    lines = _wrap(f"{race.standing}: {race.why}", 2)
    if finding.lost:
        lines += ["  the crash image lacks", *(f"    - {one_line(text)}" for text in finding.lost)]
    if finding.survived:
        lines += ["  and holds", *(f"    - {one_line(text)}" for text in finding.survived)]
    lines += _wrap(f"schedule: {race.schedule}", 2)
    return [*lines, f"  input: {one_line(race.seed) if race.seed else 'none'}"]


def explain_verdict(verdict: Verdict) -> str:
    """What the check said, in a line, and its output."""
    how = {
        Outcome.PASS: "the check passes on this image",
        Outcome.FAIL: f"the check refuses this image (exit status {verdict.code})",
        Outcome.CRASH: f"the check died of signal {verdict.code} on this image",
        Outcome.HANG: "the check hung on this image",
        Outcome.ERROR: "the check could not be run",
    }[verdict.outcome]
    said = printable(verdict.output.strip())
    return f"{how}\n{textwrap.indent(said, '  | ')}" if said else how


def _location(location: Location) -> list[str]:
    role = {"missing": "not made yet"}.get(location.role, location.role)
    place = one_line(str(location))
    function = f" in {one_line(location.function)}" if location.function and location.file else ""
    lines = [f"  {role + ':':<14}{place}{function}"]
    source = source_line(location.file, location.line).strip()
    if source:
        lines.append(f"  {'':<14}    {one_line(source.expandtabs(4))}")
    inside = f" (in {location.inside})" if location.inside else ""
    lines.append(f"  {'':<14}{one_line(location.what + inside)}")
    return lines


def _stack(location: Location) -> list[str]:
    return [f"  {'':<14}  {one_line(frame)}" for frame in location.stack[:_STACK_LINES]]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _wrap(text: str, indent: int) -> list[str]:
    space = " " * indent
    return textwrap.wrap(one_line(text), _WIDTH, initial_indent=space, subsequent_indent=space, break_long_words=False)
