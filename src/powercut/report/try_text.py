"""Whether a fix helps that the tracer added to the run: as text, and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from powercut.findings.finding import Finding, TriedOutcome
from powercut.printable import counted, one_line
from powercut.report.finding_text import explain, tried_words
from powercut.report.json_report import FindingDocument, TriedDocument, finding_document, tried_document
from powercut.testing.try_fix import Trial


class TrialDocument(msgspec.Struct):
    """One fix that was tried: the finding's id, what became of it, and what was found with the fix added."""

    finding: str
    fix: str
    tried: TriedDocument
    findings: list[FindingDocument]


def trial_document(trial: Trial) -> dict[str, Any]:
    """A trial as plain JSON values."""
    fix = trial.finding.fix
    made = TrialDocument(
        finding=trial.finding.id,
        fix=fix.text if fix is not None else "",
        tried=tried_document(trial.tried),
        findings=[finding_document(finding) for finding in trial.run.findings],
    )
    plain: dict[str, Any] = msgspec.to_builtins(made)
    return plain


def trial_text(trial: Trial) -> str:
    """What became of the finding, what shows it again, and what else remains."""
    tried, fix = trial.tried, trial.finding.fix
    lines = [f"{trial.finding.id}  tried: {tried_words(tried)}"]
    if fix is not None:
        lines.append(
            f"  {one_line(fix.text)}: sync added {_times(tried.put_in)}, {counted(tried.states, 'state')} covered"
        )
    if tried.outcome is TriedOutcome.NOT_SEEN:
        far = trial.finding.reached
        lines.append(f"  the first run had covered {far:,} when it found it: give a larger --budget or --max-states")
    parts = ["\n".join(lines)]
    if trial.seen is not None:
        parts.append(explain(trial.seen))
    if trial.findings:
        parts.append("\n".join(["Other findings that remain:", *map(_headline, trial.findings)]))
    parts.append(f"Saved in {trial.folder}")
    return "\n\n".join(parts[:-1]) + "\n" + parts[-1]


def _headline(finding: Finding) -> str:
    return f"  {finding.id}  {one_line(finding.message)} ({finding.kind.value})"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
