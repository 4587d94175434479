"""From the checker's results to findings, in the form in which they are saved and reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path, PurePath

from powercut.assertions.outcome import Outcome, Place, Result
from powercut.findings.finding import Location
from powercut.findings.identity import identify
from powercut.findings.places import stack_of
from powercut.lint.misuse import Misuse
from powercut.lint.patterns import Harm, Severity
from powercut.quick_dataclass import dataclass
from powercut.trace.symbols import Frame, Symbolizer, user_frame

_WRITEBACK = "unnecessary-writeback"
_NOWHERE = "the end of the program"
_ROLES = {  # what the other place is, where it is no flush
    "not-ordered": "written second",
    "duplicate-log": "logged before",
    "missing-backup": "logged in part",
    _WRITEBACK: "flushed before",
    "wrong-use": "started before",
}


@dataclass(slots=True)
class _Namer:
    """Names places: those that the compiler wrote down as they are, instructions by their debug information."""

    cwd: Path
    symbols: Symbolizer = field(default_factory=Symbolizer)

    def location(self, place: Place, role: str, *, is_flush: bool) -> Location:
        if place.line == 0 and place.file:
            frames = self.symbols.resolve([(place.file, place.offset)])[place.file, place.offset]
            stack = stack_of(frames) if len(frames) > 1 else ()
            own = _own_frame(frames, flush=is_flush)
            return Location(own.file, own.line, own.function, role, frames=stack)
        if not place.file:
            return Location(None, None, f"address {place.offset:#x}", role)
        return Location(self._found(place.file), place.line, place.function or None, role)

    def _found(self, file: str) -> str:
        """A relative name, as the compiler had it, from where the program was started, if it is there."""
        path = self.cwd / file
        return str(path) if not PurePath(file).is_absolute() and path.is_file() else file


def _own_frame(frames: Sequence[Frame], *, flush: bool) -> Frame:
    """The line to name of an instruction: not one of the compiler's headers; of a flush, who called the helper."""
    if flush:
        frames = [frame for frame in frames if not (frame.file or "").endswith(".h")] or frames
    return user_frame(frames) or frames[0]


def misuses(outcome: Outcome, cwd: Path) -> list[Misuse]:
    """All results, the wrong ones first, those of the same id as one."""
    namer, found = _Namer(cwd), dict[str, Misuse]()
    for result in outcome.findings:
        misuse = _misuse(result, namer)
        if misuse.id in found:
            found[misuse.id].count += misuse.count
        else:
            found[misuse.id] = misuse
    return sorted(found.values(), key=lambda misuse: not misuse.is_bug)


def _misuse(result: Result, namer: _Namer) -> Misuse:
    locations = list(_locations(result, namer))
    shown = locations or [Location(None, None, _NOWHERE, "at")]
    return Misuse(
        pattern=result.kind,
        why=result.why,
        severity=(Severity.BUG if result.severity == "fail" else Severity.WARNING).value,
        harm=_harm(result).value,
        title=" ".join([result.kind.replace("-", " "), *([f"({result.why})"] if result.why else [])]),
        message=_message(result.sentence, {location.role: location for location in locations}, result),
        locations=shown,
        count=result.count,
        executed=0,
        files=[],
        advice=result.advice,
        id=identify(f"{result.kind}/{result.why}", shown),
    )


def _locations(result: Result, namer: _Namer) -> Iterable[Location]:
    begun = result.why == "not-ended"
    yield from (
        namer.location(place, role, is_flush=role.startswith("flushed") or (result.kind == _WRITEBACK and role == "at"))
        for place, role in (
            (result.at, "at"),
            (result.write if result.write != result.at else None, "begun" if begun else "written"),
            (result.other, _ROLES.get(result.kind, "flushed")),
        )
        if place is not None
    )


def _message(sentence: str, places: dict[str, Location], result: Result) -> str:
    at = places.get("at")
    written = places.get("written") or places.get("begun") or at
    other = places.get(_ROLES.get(result.kind, "flushed"))
    for mark, location in (("%a", at), ("%w", written), ("%o", other)):
        sentence = sentence.replace(mark, location.short if location else _NOWHERE)
    return sentence


def _harm(result: Result) -> Harm:
    if result.kind == "not-ordered":
        return Harm.ORDERING
    return Harm.PERFORMANCE if result.kind in (_WRITEBACK, "duplicate-log") else Harm.DURABILITY
