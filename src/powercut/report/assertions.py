"""A run of `powercut check` as text for people and as JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from powercut.findings.baseline import unmarked
from powercut.lint.misuse import Misuse
from powercut.printable import counted
from powercut.report.lint import counts, explain_misuse, known_section, misuse_document
from powercut.runs.store import SavedRun


def check_text(run: SavedRun, folder: Path | None) -> str:
    """Everything found, how much was checked, and how the program ended."""
    parts = [explain_misuse(misuse, _head(misuse)) for misuse in run.misuses if misuse.known is None]
    parts += known_section(run.misuses)
    if run.assertions["ending"]:
        parts.append(f"The program {run.assertions['ending']}. What it did until then is checked.")
    saved = [f"Saved in {folder}"] if folder else []
    return "\n\n".join([*parts, "\n".join([*saved, checked_line(run)])])


def checked_line(run: SavedRun) -> str:
    """What was found, and how much was checked."""
    found = counts(run.misuses)
    return f"{found[:1].upper()}{found[1:]}. {checked_extent(run)}"


def checked_extent(run: SavedRun) -> str:
    """How much was checked."""
    facts = run.assertions
    operations, threads = int(facts.get("operations", 0)), int(facts.get("threads", 0))
    checked = f"{counted(operations, 'operation')} of {counted(threads, 'thread')} checked"
    return f"{checked}. {run.seconds:,.1f} s. Model: {run.model}."


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
