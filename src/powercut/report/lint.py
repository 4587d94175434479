"""What lint reports, as text for people and as JSON for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import msgspec

from powercut import __version__
from powercut.findings.finding import Location
from powercut.lint.analysis import Analysis
from powercut.lint.misuse import Misuse
from powercut.lint.patterns import Severity
from powercut.model.memory import Memory
from powercut.printable import counted, printable
from powercut.report.location_document import LocationDocument, location_document
from powercut.report.paint import PLAIN, Paint, Role
from powercut.report.source import line_hint, source_line
from powercut.trace.reader import Trace

_WIDTH = 110
_ROLE = 16  # columns
_HARMLESS = "does not change the exit code"
_SEVERITIES = {Severity.BUG.value: "likely bug"}


def lint_text(analysis: Analysis, memory: Memory) -> str:
    """Everything found, and how much was looked at."""
    parts = [explain_misuse(misuse) for misuse in analysis.misuses if misuse.known is None]
    parts += known_section(analysis.misuses)
    read = f"{counted(analysis.records, 'memory record')} and {counted(analysis.calls, 'event')} read"
    found = _capital(lint_counts(analysis.misuses))
    parts.append(f"{found}. {read}. {analysis.seconds:,.1f} s. Memory model: {memory.name}.")
    return "\n\n".join(parts)


def known_section(misuses: Sequence[Misuse]) -> list[str]:
    """What is in the baseline, as a part of a report; none if nothing is."""
    known = [misuse for misuse in misuses if misuse.known is not None]
    return ["\n".join(["In the baseline:", *(f"  {_short(m)}: {m.known}" for m in known)])] if known else []


def counts(misuses: Sequence[Misuse], bug: str = "failure") -> str:
    """How many there are, in words; assertions that do not hold are failures."""
    new = [misuse for misuse in misuses if misuse.known is None]
    bugs = sum(misuse.is_bug for misuse in new)
    words = [counted(number, what) for number, what in ((bugs, bug), (len(new) - bugs, "warning")) if number]
    if len(new) < len(misuses):
        words.append(f"{len(misuses) - len(new)} in the baseline")
    return ", ".join(words) or "no findings"


def lint_counts(misuses: Sequence[Misuse]) -> str:
    """How much lint reports, in words: bugs of which no crash state is known are likely ones."""
    return counts(misuses, _SEVERITIES[Severity.BUG.value])


def section(misuses: Sequence[Misuse], trace: str, paint: Paint = PLAIN) -> str:
    """What lint reports of a run: a line for each bug, and how many warnings there are. It does not fail the run."""
    bugs = [misuse for misuse in misuses if misuse.is_bug and misuse.known is None]
    why = what_bugs_mean([bug.finding for bug in bugs])
    head = f"Lint reports {lint_counts(misuses)} ({why}): powercut lint {trace}"
    return "\n".join([paint(Role.WARNING, printable(head)), *(f"  {printable(_short(bug))}" for bug in bugs)])


def what_bugs_mean(confirmed: Sequence[str | None]) -> str:
    """How far likely bugs are known to be some, given the finding that confirms each, and that they fail no run."""
    left = sum(finding is None for finding in confirmed)
    some = f"{left} of {len(confirmed)} " if left < len(confirmed) else ""
    return f"{some}not tested; {_HARMLESS}" if left else _HARMLESS


def explain_misuse(misuse: Misuse, head: str = "") -> str:
    """One misuse, with everything needed to understand it."""
    lines = [
        head or f"{misuse.id}  {severity_words(misuse)}: {misuse.title} ({misuse.pattern}, {misuse.harm})",
        *_wrap(misuse.message),
        f"  {_how_often(misuse)}",
        "",
    ]
    for number, location in enumerate(misuse.locations):
        lines.extend(_location(location))
        lines.extend(_stack(location) if number == 0 else [])  # that of the other side is in the JSON
    lines.extend([*line_hint(misuse.locations), "", *_wrap(f"advice: {misuse.advice}")])
    if misuse.finding is not None:
        lines.append(f"  confirmed by finding {misuse.finding}")
    return "\n".join(lines)


def lint_document(analysis: Analysis, trace: Trace, path: str, memory: Memory, notes: list[str]) -> dict[str, Any]:
    """The JSON report of `powercut lint`. Fields may be added; those here keep their meaning."""
    return {
        "version": __version__,
        "trace": path,
        "command": trace.command,
        "memory": memory.name,
        "records": analysis.records,
        "events": analysis.calls,
        "seconds": round(analysis.seconds, 3),
        "notes": notes,
        "misuses": msgspec.to_builtins([misuse_document(misuse) for misuse in analysis.misuses]),
    }


class MisuseDocument(msgspec.Struct):
    """One misuse in the JSON report."""

    id: str
    pattern: str
    why: str
    severity: str
    harm: str
    title: str
    message: str
    count: int
    executed: int
    stacks: int
    files: list[str]
    locations: list[LocationDocument]
    advice: str
    finding: str | None
    known: str | None


def misuse_document(misuse: Misuse) -> MisuseDocument:
    """One misuse as the JSON report has it."""
    same = {name: getattr(misuse, name) for name in MisuseDocument.__struct_fields__ if name != "locations"}
    return MisuseDocument(**same, locations=list(map(location_document, misuse.locations)))


def severity_words(misuse: Misuse) -> str:
    """How sure it is: a likely bug, or a warning."""
    return _SEVERITIES.get(misuse.severity, misuse.severity)


def _short(misuse: Misuse) -> str:
    place = misuse.locations[0]
    inside = f" in {place.function}" if place.file and place.function else ""
    confirmed = f" (confirmed by finding {misuse.finding})" if misuse.finding is not None else ""
    return f"{misuse.id}  {severity_words(misuse)}: {misuse.title}, {place.short}{inside}{confirmed}"


def _how_often(misuse: Misuse) -> str:
    of = f" of {misuse.executed:,}" if misuse.executed > misuse.count else ""
    ways = f", from {misuse.stacks:,} call stacks; the most frequent one is shown" if misuse.stacks > 1 else ""
    return f"seen {misuse.count:,}{of} times{ways}" if misuse.count != 1 or of else "seen once"


def _location(location: Location) -> list[str]:
    inside = f" in {location.function}" if location.function and location.file else ""
    lines = [f"  {location.role + ':':<{_ROLE}}{printable(f'{location}{inside}')}"]
    source = source_line(location.file, location.line).strip()
    if source:
        lines.append(f"  {'':<{_ROLE}}    {printable(source)}")
    return lines


def _stack(location: Location) -> list[str]:
    frames = enumerate(location.stack)
    return [f"  {'':<{_ROLE}}{'by' if number else 'at'} {printable(frame)}" for number, frame in frames]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(printable(text), _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
