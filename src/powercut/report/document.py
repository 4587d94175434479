"""The JSON report: the documented form of a run for other programs."""

from __future__ import annotations

from typing import Any

import msgspec

from powercut.findings.finding import Finding
from powercut.report.lint import misuse_document
from powercut.run.store import SavedRun


def document(run: SavedRun) -> dict[str, Any]:
    """A run as plain JSON values. Fields may be added; those here keep their meaning."""
    return {
        "version": run.version,
        "command": run.command,
        "folder": run.folder,
        "check": run.check,
        "model": run.model,
        "seconds": round(run.seconds, 3),
        "interrupted": run.interrupted,
        "states": run.states,
        "coverage": run.coverage,
        "behaviors": msgspec.to_builtins(run.behaviors),
        "notes": run.notes,
        "findings": [_finding(finding) for finding in run.findings],
        "misuses": [misuse_document(misuse) for misuse in run.misuses],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "kind": finding.kind.value,
        "severity": finding.severity,
        "message": finding.message,
        "locations": [msgspec.to_builtins(location) for location in finding.locations],
        "models": finding.models,
        "lost": finding.lost,
        "survived": finding.survived,
        "fix": msgspec.to_builtins(finding.fix),
        "verdict": {"outcome": finding.outcome, "code": finding.code, "output": finding.output},
        "recovery": list(finding.recovery),
        "occurrences": finding.occurrences,
        "replay": finding.replay,
        "known": finding.known,
    }
