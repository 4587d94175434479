"""The trace analysis as text for people and as JSON for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import msgspec

from powercut import __version__
from powercut.findings.finding import Location
from powercut.lint.analysis import Analysis
from powercut.lint.misuse import Misuse
from powercut.model.memory import Memory
from powercut.printable import printable
from powercut.report.location_document import LocationDocument, location_document
from powercut.report.source import source_line
from powercut.trace.reader import Trace

_WIDTH = 110
_ROLE = 16  # columns


def lint_text(analysis: Analysis, memory: Memory) -> str:
    """Everything found, and how much was looked at."""
    parts = [explain_misuse(misuse) for misuse in analysis.misuses if misuse.known is None]
    parts += known_section(analysis.misuses)
    looked = f"{analysis.records:,} memory records and {analysis.calls:,} events, {analysis.seconds:.1f} s"
    parts.append(f"{counts(analysis.misuses)}: {looked}, memory {memory.name}")
    return "\n\n".join(parts)


def known_section(misuses: Sequence[Misuse]) -> list[str]:
    """What the baseline knows, as a part of a report; none if it knows nothing of it."""
    known = [misuse for misuse in misuses if misuse.known is not None]
    return ["\n".join(["known, as the baseline says:", *(f"  {_short(m)}: {m.known}" for m in known)])] if known else []


def counts(misuses: Sequence[Misuse]) -> str:
    """How many there are, in words."""
    new = [misuse for misuse in misuses if misuse.known is None]
    bugs = sum(misuse.is_bug for misuse in new)
    words = [_counted(number, what) for number, what in ((bugs, "bug"), (len(new) - bugs, "warning")) if number]
    if len(new) < len(misuses):
        words.append(f"{len(misuses) - len(new)} known")
    return ", ".join(words) or "nothing found"


def section(misuses: Sequence[Misuse], trace: str) -> str:
    """What a run says about it: a line for each bug, and how many warnings there are."""
    lines = [f"trace analysis: {counts(misuses)} (powercut lint {trace})"]
    lines += [f"  {printable(_short(misuse))}" for misuse in misuses if misuse.is_bug and misuse.known is None]
    return "\n".join(lines)


def explain_misuse(misuse: Misuse, head: str = "") -> str:
    """One misuse, with everything needed to understand it."""
    lines = [
        head or f"{misuse.id}  {misuse.severity}: {misuse.title} ({misuse.pattern}, {misuse.harm})",
        *_wrap(misuse.message),
        f"  {_how_often(misuse)}",
        "",
    ]
    for number, location in enumerate(misuse.locations):
        lines.extend(_location(location))
        lines.extend(_stack(location) if number == 0 else [])  # that of the other side is in the JSON
    lines.extend(["", *_wrap(f"advice: {misuse.advice}")])
    if misuse.finding is not None:
        lines.append(f"  confirmed: finding {misuse.finding} is a crash state that loses it")
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


def _short(misuse: Misuse) -> str:
    place = misuse.locations[0]
    inside = f" in {place.function}" if place.file and place.function else ""
    return f"{misuse.id}  {misuse.severity}: {misuse.title}, {place.short}{inside}"


def _how_often(misuse: Misuse) -> str:
    of = f" of {misuse.executed}" if misuse.executed > misuse.count else ""
    ways = f", by {misuse.stacks} call stacks; the most frequent one is shown" if misuse.stacks > 1 else ""
    return f"seen {misuse.count}{of} times{ways}" if misuse.count != 1 or of else "seen once"


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


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(printable(text), _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
