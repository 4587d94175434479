"""A run of `powercut race` as text: findings, what was covered, and a line or a table while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from powercut.printable import one_line
from powercut.report.finding_text import explain
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


def raced_text(run: SavedRun, folder: Path) -> str:
    """All findings of a run and what was covered."""
    parts = [explain(finding) for finding in run.findings if finding.known is None]
    known = [f"{f.id}  known: {one_line(f.known)} ({f.kind.value})" for f in run.findings if f.known is not None]
    parts += ["\n".join(known)] if known else []
    allowed = [f"  {place}: {reason} ({times})" for place, reason, times in run.race.get("allowed", ())]
    parts += ["\n".join(["left out, as the allow-list says:", *map(one_line, allowed)])] if allowed else []
    parts.append(raced_line(run))
    if run.interrupted:
        parts.append("interrupted: what was found so far is saved")
    return "\n\n".join(parts) + f"\nsaved in {folder}"


def raced_line(run: SavedRun) -> str:
    """What was found, and how much was executed."""
    count, sure = len(run.findings), sum(finding.severity == "error" for finding in run.findings)
    found = f"{sure} race{'s' if sure != 1 else ''}" if sure else "no race found"
    found += f", {count - sure} unconfirmed" if count > sure else ""
    return f"{found}: {raced_words(run.race)}, {run.seconds:.1f} s, model {run.model}"


def raced_words(counts: dict[str, Any]) -> str:
    """How far a run is, in one line."""
    return ", ".join(f"{counts.get(key, 0):,} {name}" for key, name in _COLUMNS)


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
