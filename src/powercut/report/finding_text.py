"""One finding as text for people."""

from __future__ import annotations

import textwrap

from powercut.findings.finding import Finding, Location, Race, Tried, TriedOutcome
from powercut.findings.idioms import how_to
from powercut.oracle.verdict import Outcome, Verdict
from powercut.printable import counted, one_line, printable
from powercut.report.kind_texts import KINDS
from powercut.report.paint import PLAIN, Paint, Role
from powercut.report.source import line_hint, source_line
from powercut.runs.store import MORE_TIME

_VERIFIED = {
    "model": "verified in the model",
    "check": "verified: the check passes in that order",
}
_CUT_SHORT = f"provisional: time ran out before powercut knew the cause, so there is no id yet. {MORE_TIME}."
_STACK_LINES = 12  # of the stack of a check that died, or of a thread in a race
_OUTPUT_LINES = 8  # of what the check printed


def headline(finding: Finding) -> str:
    """Its kind and its place."""
    place = next((location for location in finding.locations if location.file), None)
    return one_line(f"{KINDS[finding.kind].title}, {place.short}" if place else KINDS[finding.kind].title)


def baseline_text(findings: list[Finding]) -> str:
    """The findings that the baseline knows, with its reasons; empty if there are none."""
    known = [f"  {f.id}  {headline(f)}: {one_line(f.known)}" for f in findings if f.known is not None]
    return "\n".join(["In the baseline:", *known]) if known else ""


def explain(finding: Finding, paint: Paint = PLAIN) -> str:
    """One finding, with everything needed to understand and repeat it."""
    kind = paint(Role.KIND, f"{KINDS[finding.kind].title} ({finding.kind.value})")
    lines = [f"{paint(Role.ID, finding.id)}  {kind}", *_wrap(finding.message, paint), ""]
    for location in finding.locations:
        lines.extend(_location(location, paint))
        lines.extend(_stack(location) if finding.race else ())
    lines += [*line_hint(finding.locations), ""]
    lines.extend(_raced(finding, finding.race, paint) if finding.race else _minimal_state(finding))
    if finding.output.strip():
        check = "check" if finding.code else "built-in check"
        lines.append(f"  output of the {'recovery or the check' if finding.race else check}:")
        output = printable(finding.output.strip()).splitlines()[-_OUTPUT_LINES:]
        lines.extend(f"    | {line}" for line in output)
    if finding.recovery:
        lines.append("  the check crashed at:")
        lines.extend(f"    {one_line(frame)}" for frame in finding.recovery[:_STACK_LINES])
    if finding.fix is not None:
        marks = [_VERIFIED[finding.fix.by]] if finding.fix.verified else []
        marks += [f"tried: {tried_words(finding.tried)}"] if finding.tried is not None else []
        mark = f" ({'; '.join(marks)})" if marks else ""
        text = f"{'fix' if finding.fix.verified else 'suggestion'}: {finding.fix.text}{mark}"
        lines.extend(paint(Role.FIX, line) for words in (text, how_to(finding)) for line in _wrap(words, paint))
    times = counted(finding.occurrences, "execution" if finding.race else "failing state")
    lines.append(f"  possible on: {', '.join(finding.models)}; {times}")
    if finding.cut_short:
        lines.extend(paint(Role.WARNING, line) for line in _wrap(_CUT_SHORT, paint))
    lines.append(f"  replay: {paint(Role.COMMAND, one_line(finding.replay))}")
    return "\n".join(lines)


def tried_words(tried: Tried) -> str:
    """What became of a finding when its fix was tried."""
    if tried.outcome is TriedOutcome.NOT_SEEN:
        return f"not seen again in {counted(tried.states, 'state')}"
    return tried.outcome.value


def _minimal_state(finding: Finding) -> list[str]:
    if not finding.lost:
        return ["  minimal state: nothing was lost. Killing the program at this moment is enough"]
    state = "smallest state so far" if finding.cut_short else "minimal state"
    head = f"  {state}: everything before the crash survived, except"
    more = len(finding.state.delta) - len(finding.lost)
    rest = [f"    - and {more:,} more"] if more > 0 else []
    return [head, *(f"    - {one_line(text)}" for text in finding.lost), *rest]


def _raced(finding: Finding, race: Race, paint: Paint) -> list[str]:
    """What shows a race, and what it takes to see it again."""
    lines = _wrap(f"{race.standing}: {race.why}", paint)
    if finding.lost:
        lines += ["  the crash image lacks", *(f"    - {one_line(text)}" for text in finding.lost)]
    if finding.survived:
        lines += ["  and holds", *(f"    - {one_line(text)}" for text in finding.survived)]
    lines += _wrap(f"schedule: {race.schedule}", paint)
    lines += [f"  seen again in {race.seen:,} of {race.tries:,} replays"] if race.tries else []
    return [*lines, f"  input: {one_line(race.seed) if race.seed else 'none'}"]


def explain_verdict(verdict: Verdict) -> str:
    """What the check makes of an image, in a line, and its output."""
    failed = f"The check fails on this image (exit status {verdict.code})."
    how = {
        Outcome.PASS: "The check passes on this image.",
        Outcome.FAIL: failed if verdict.code else "The built-in check fails on this image.",
        Outcome.CRASH: f"The check crashes on this image (signal {verdict.code}).",
        Outcome.HANG: "The check hangs on this image.",
        Outcome.ERROR: "The check could not be run.",
    }[verdict.outcome]
    output = printable(verdict.output.strip())
    return f"{how}\n{textwrap.indent(output, '  | ')}" if output else how


def _location(location: Location, paint: Paint) -> list[str]:
    role = {"missing": "not run yet"}.get(location.role, location.role)
    place = paint(Role.PLACE, one_line(str(location)))
    function = f" in {one_line(location.function)}" if location.function and location.file else ""
    lines = [f"  {role + ':':<14}{place}{function}"]
    source = one_line(source_line(location.file, location.line).strip().expandtabs(4))
    if source:
        lines.append(f"  {'':<14}    {paint.source(source, location.file)}")
    inside = f" (in {location.inside})" if location.inside else ""
    if location.asked and not location.asked.endswith(f", {location.short}"):
        inside += f" (asked for at {location.asked})"
    lines.append(f"  {'':<14}{one_line(location.what + inside)}")
    if location.process:
        lines.append(f"  {'':<14}by {one_line(location.process)}")
    return lines


def _stack(location: Location) -> list[str]:
    return [f"  {'':<14}  {one_line(frame)}" for frame in location.stack[:_STACK_LINES]]


def _wrap(text: str, paint: Paint) -> list[str]:
    return textwrap.wrap(
        one_line(text), paint.width, initial_indent="  ", subsequent_indent="  ", break_long_words=False
    )
