"""The JSON report: the documented form of a run for other programs, and its schema, which is made of these types.

Fields may be added; those here keep their meaning. docs/findings.md explains each, and a test keeps that page whole.
"""

from __future__ import annotations

from typing import Any

import msgspec

from powercut.findings.finding import Finding, Race, Tried
from powercut.findings.idioms import how_to
from powercut.report.assertions import check_document
from powercut.report.formats import Setting
from powercut.report.lint import MisuseDocument, misuse_document
from powercut.report.location_document import LocationDocument, location_document
from powercut.runs.store import BehaviorCounts, SavedRun, to_json


class VerdictDocument(msgspec.Struct):
    """What the check did on the minimal state."""

    outcome: str
    code: int
    output: str


class FixDocument(msgspec.Struct):
    """What to change, and who confirms it."""

    text: str
    verified: bool
    by: str
    how: str


class TriedDocument(msgspec.Struct):
    """What became of a finding whose fix was put in: docs/try.md."""

    outcome: str
    put_in: int
    states: int
    findings: list[str]
    seen: str | None
    run: str


class FindingDocument(msgspec.Struct):
    """One finding."""

    id: str
    kind: str
    severity: str
    message: str
    locations: list[LocationDocument]
    models: list[str]
    lost: list[str]
    survived: list[str]
    fix: FixDocument | None
    verdict: VerdictDocument
    recovery: list[str]
    occurrences: int
    replay: str
    cut_short: bool
    known: str | None
    race: Race | None
    tried: TriedDocument | None


class DoubtDocument(msgspec.Struct):
    """A state of which the check did not say one thing."""

    id: str
    message: str


class RunDocument(msgspec.Struct):
    """One run."""

    version: str
    command: list[str]
    folder: str
    check: list[str] | None
    model: str
    seconds: float
    stages: dict[str, float]
    interrupted: bool
    states: dict[str, Any]
    coverage: dict[str, Any]
    behaviors: list[BehaviorCounts]
    notes: list[str]
    findings: list[FindingDocument]
    misuses: list[MisuseDocument]
    doubts: list[DoubtDocument]
    race: dict[str, Any]


def render(run: SavedRun, setting: Setting) -> bytes:
    """The run as JSON."""
    return to_json(check_document(run) if run.assertions else document(run))


def document(run: SavedRun) -> dict[str, Any]:
    """A run as plain JSON values."""
    made = RunDocument(
        version=run.version,
        command=run.command,
        folder=run.folder,
        check=run.check,
        model=run.model,
        seconds=round(run.seconds, 3),
        stages={name: round(seconds, 3) for name, seconds in run.stages.items()},
        interrupted=run.interrupted,
        states=run.states,
        coverage=run.coverage,
        behaviors=run.behaviors,
        notes=run.notes,
        findings=[finding_document(finding) for finding in run.findings],
        misuses=[misuse_document(misuse) for misuse in run.misuses],
        doubts=[DoubtDocument(id=doubt.id, message=doubt.message) for doubt in run.doubts],
        race=run.race,
    )
    plain: dict[str, Any] = msgspec.to_builtins(made)
    return plain


def schema() -> dict[str, Any]:
    """The JSON schema of the report."""
    made = msgspec.json.schema(RunDocument)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The JSON report of powercut", **made}


def finding_document(finding: Finding) -> FindingDocument:
    """A finding in its documented form."""
    fix = finding.fix
    return FindingDocument(
        id=finding.id,
        kind=finding.kind.value,
        severity=finding.severity,
        message=finding.message,
        locations=list(map(location_document, finding.locations)),
        models=finding.models,
        lost=finding.lost,
        survived=finding.survived,
        fix=FixDocument(fix.text, fix.verified, fix.by, how_to(finding)) if fix is not None else None,
        verdict=VerdictDocument(finding.outcome, finding.code, finding.output),
        recovery=list(finding.recovery),
        occurrences=finding.occurrences,
        replay=finding.replay,
        cut_short=finding.cut_short,
        known=finding.known,
        race=finding.race,
        tried=tried_document(finding.tried) if finding.tried is not None else None,
    )


def tried_document(tried: Tried) -> TriedDocument:
    """A trial in its documented form."""
    found = list(tried.findings)
    return TriedDocument(tried.outcome.value, tried.put_in, tried.states, found, tried.seen, tried.run)
