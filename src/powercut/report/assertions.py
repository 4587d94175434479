"""A run of `powercut check` as text for people and as JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from powercut.findings.baseline import unmarked
from powercut.lint.misuse import Misuse
from powercut.report.lint import counts, explain_misuse, known_section, misuse_document
from powercut.runs.store import SavedRun


def check_text(run: SavedRun, folder: Path | None) -> str:
    """Everything found, how much was checked, and how the program ended."""
    parts = [explain_misuse(misuse, _head(misuse)) for misuse in run.misuses if misuse.known is None]
    parts += known_section(run.misuses)
    parts.append(checked_line(run))
    if run.assertions["ending"]:
        parts.append(f"the program {run.assertions['ending']}; what it did until then is checked")
    text = "\n\n".join(parts)
    return f"{text}\nsaved in {folder}" if folder else text


def checked_line(run: SavedRun) -> str:
    """What was found, and how much was checked."""
    facts = run.assertions
    threads = "1 thread" if facts.get("threads") == 1 else f"{facts.get('threads', 0)} threads"
    operations = int(facts.get("operations", 0))
    summary = f"{counts(run.misuses)}: {operations:,} operations of {threads}, {run.seconds:.1f} s"
    return f"{summary}, model {run.model}"


def _head(misuse: Misuse) -> str:
    return f"{misuse.id}  {'FAIL' if misuse.is_bug else 'WARN'}: {misuse.title}"


def check_document(run: SavedRun) -> dict[str, Any]:
    """The JSON report of `powercut check`. Fields may be added; those here keep their meaning."""
    return {
        "version": run.version,
        "command": run.command,
        "model": run.model,
        "seconds": round(run.seconds, 3),
        "interrupted": run.interrupted,
        **run.assertions,
        "notes": run.notes,
        "findings": [misuse_document(misuse) for misuse in run.misuses],
    }


def has_new_failures(run: SavedRun) -> bool:
    """Whether anything is wrong that the baseline does not know."""
    return bool(unmarked([misuse for misuse in run.misuses if misuse.is_bug]))
