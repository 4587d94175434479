"""Lint: from a trace to lint findings, one for each root cause.

Before: a trace as it stands in its file; nobody has to open its runs of memory records. After: every pattern of
docs/lint.md that the trace shows, with the line of the user's own code, its whole stack and a count. Sightings at the
same line are one root cause, whatever way led there; so ids are the same from run to run, wherever the program is
loaded.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from powercut.findings.finding import Finding, Location
from powercut.findings.places import Places
from powercut.lint.blame import Blame
from powercut.lint.file_pass import FilePass
from powercut.lint.libraries import StackRoles
from powercut.lint.memory_pass import interpret, persistent_files, walk
from powercut.lint.misuse import Misuse, make_misuse
from powercut.lint.patterns import PAIRS, PATTERNS, Harm
from powercut.lint.sightings import Sighting, Sightings
from powercut.model.memory import Memory
from powercut.quick_dataclass import dataclass
from powercut.trace.layout import Kind
from powercut.trace.reader import Trace

_Key = tuple[str | None, int | None, str | None]


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the analysis of one trace gave.

    Attributes:
        misuses: bugs first, those about durability first among them.
        records: memory records looked at.
        calls: all other events.
        seconds: how long it took.
    """

    misuses: list[Misuse]
    records: int
    calls: int
    seconds: float

    @property
    def bugs(self) -> list[Misuse]:
        """What is wrong for sure."""
        return [misuse for misuse in self.misuses if misuse.is_bug]

    @property
    def warnings(self) -> list[Misuse]:
        """What may be meant so."""
        return [misuse for misuse in self.misuses if not misuse.is_bug]

    def without_warnings(self) -> Analysis:
        """The same, but for them."""
        return replace(self, misuses=self.bugs)


def gaps(trace: Trace) -> list[str]:
    """What a trace does not hold, so that nothing can be found there."""
    found = []
    if trace.truncated:
        found.append(f"the trace {trace.name} is truncated; lint sees only what it contains")
    if not trace.sees_memory and (trace.written["kind"] == Kind.MMAP).any():
        found.append("the program maps files for writing, but the trace has no stores: record with --tracer memory")
    return found


def analyse(trace: Trace, memory: Memory, places: Places | None = None) -> Analysis:
    """Look for all patterns in a trace; `places` of it may be known already."""
    started = time.monotonic()
    sightings, roles, places = Sightings(), StackRoles(trace), places or Places(trace)
    internal = roles.internal()
    found = walk(trace, memory, internal)
    files = FilePass(trace, found, persistent_files(found, memory), internal, sightings)
    files.walk()
    interpret(found, memory, roles, files.paths, sightings)
    stacks = {stack for sighting in sightings for stack in (sighting.stack, sighting.other)}
    changing = {*found.storing, *files.changing} if stacks else set()
    places.prepare(stacks | changing)
    blame = Blame(places, changing)
    return Analysis(_merged(sightings, blame), found.records, len(trace.written), time.monotonic() - started)


def _merged(sightings: Iterable[Sighting], blame: Blame) -> list[Misuse]:
    """One misuse for each pattern and place."""
    groups: defaultdict[tuple[object, ...], list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        role, other_role = sighting.pattern.roles
        sides = [blame.location(sighting.stack, role)]
        if sighting.pattern in PAIRS:
            sides.append(blame.location(sighting.other, other_role))
        groups[sighting.pattern, *map(_key, sides)].append(sighting)
    misuses = [_misuse(group, blame) for group in groups.values()]
    order = {(pattern.name, pattern.why): number for number, pattern in enumerate(PATTERNS)}
    return sorted(
        misuses,
        key=lambda m: (not m.is_bug, m.harm != Harm.DURABILITY, order[m.pattern, m.why], -m.count, m.id),
    )


def _key(location: Location) -> _Key:
    return (location.file, location.line, location.function)


def _misuse(group: list[Sighting], blame: Blame) -> Misuse:
    """The root cause of sightings at one place; the most frequent one is shown."""
    shown = max(group, key=lambda sighting: (sighting.count, -sighting.stack))
    role, other_role = shown.pattern.roles
    locations = [blame.location(shown.stack, role)]
    if shown.other and other_role:
        locations.append(blame.location(shown.other, other_role))
    count, executed = (sum(getattr(sighting, name) for sighting in group) for name in ("count", "executed"))
    files = sorted({name.decode("utf-8", "replace") for sighting in group for name in sighting.files})
    made = make_misuse(shown.pattern, locations, count, executed, files)
    made.stacks = len({sighting.stack for sighting in group})
    return made


def confirm(misuses: Iterable[Misuse], findings: Iterable[Finding]) -> None:
    """Note which misuses a crash state confirms: a finding loses what the same line wrote.

    Several findings can lose what one line wrote. The one that names most of the misuse's lines is about it.
    """
    findings = list(findings)
    for misuse in misuses:
        if misuse.harm == Harm.DURABILITY:
            places = {place for location in misuse.locations if (place := _line(location))}
            losing = [found for found in findings if places & set(map(_line, _lost(found)))]
            named = max(losing, key=lambda found: len(places & set(map(_line, found.locations))), default=None)
            misuse.finding = named.id if named is not None else None


def _lost(finding: Finding) -> list[Location]:
    return [location for location in finding.locations if location.role == "lost"]


def _line(location: Location) -> tuple[str | None, int] | None:
    return (location.file, location.line) if location.line is not None else None
