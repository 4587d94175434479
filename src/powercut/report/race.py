"""A run of `powercut race` as text: findings, what was covered, and a line or a table while it goes on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from powercut.findings.finding import Finding
from powercut.printable import counted, one_line
from powercut.report.finding_text import baseline_text, explain
from powercut.report.paint import PLAIN, Paint, Role
from powercut.runs.store import SavedRun

if TYPE_CHECKING:
    from rich.table import Table

_COLUMNS = (
    ("executions", "executions"),
    ("alias_pairs", "alias pairs"),
    ("blocks", "blocks"),
    ("inter_candidates", "candidates between threads"),
    ("intra_candidates", "inside"),
    ("inconsistencies", "inconsistencies"),
    ("benign", "benign"),
    ("bugs", "bugs"),
)
_NARROW = {  # so that the table fits into 80 columns
    "executions": "execu-\ntions",
    "alias_pairs": "alias\npairs",
    "inter_candidates": "candidates\nbetween\nthreads",
    "inconsistencies": "inconsis-\ntencies",
}


def raced_text(run: SavedRun, folder: Path, paint: Paint = PLAIN) -> str:
    """All findings of a run, and at its end what was covered."""
    parts = [explain(finding, paint) for finding in run.findings if finding.known is None]
    parts += [known] if (known := baseline_text(run.findings)) else []
    allowed = [f"  {place}: {reason} ({times})" for place, reason, times in run.race.get("allowed", ())]
    parts += ["\n".join(["Left out because of the allow-list:", *map(one_line, allowed)])] if allowed else []
    lines = [f"Model: {one_line(run.model)}", f"Saved in {one_line(str(folder))}"]
    lines += [paint(Role.WARNING, "Interrupted. Results so far are saved.")] if run.interrupted else []
    return "\n\n".join([*parts, "\n".join([*lines, f"{raced_found(run)}. {raced_extent(run)}"])])


def raced_found(run: SavedRun) -> str:
    """How many races there are, and what else."""
    words = Counter(standing_words(finding) for finding in run.findings if finding.race is not None)
    plain = sum(finding.race is None for finding in run.findings)
    parts = [counted(words["finding"], "race") if words["finding"] else "No races"]
    parts += [counted(plain, "plain crash bug")] if plain else []
    parts += [f"{words['unconfirmed']:,} unconfirmed"] if words["unconfirmed"] else []
    parts += [counted(words["candidate"], "candidate")] if words["candidate"] else []
    return ", ".join(parts)


def standing_words(finding: Finding) -> str:
    """What a finding is called in a line: of races, only those whose replay has shown them again are more."""
    return "finding" if finding.race is None or finding.severity == "error" else finding.race.standing


def raced_extent(run: SavedRun) -> str:
    """How much was executed."""
    return f"{_capital(raced_words(run.race))}. {run.seconds:,.1f} s."


def raced_words(counts: dict[str, Any]) -> str:
    """How far a run is, in one line."""
    words = [f"{counts.get(key, 0):,} {name}" for key, name in _COLUMNS]
    waiting = counts.get("waiting", 0)
    return ", ".join([*words, f"{waiting:,} waiting for a verdict"] if waiting else words)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def raced_table(counts: dict[str, Any], rate: float, left: float | None) -> Table:
    """The same for a terminal, in columns."""
    from rich.table import Table

    names = [*(_NARROW.get(key, name) for key, name in _COLUMNS), "a\nsecond", "seconds\nleft"]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name, justify="right")
    values = [f"{counts.get(key, 0):,}" for key, _ in _COLUMNS]
    table.add_row(*values, f"{rate:.1f}", "" if left is None else f"{left:.0f}")
    return table
