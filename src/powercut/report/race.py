"""A run of `powercut race` as text: findings, what was covered, and a line or a table while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """How many races there are."""
    count, sure = len(run.findings), sum(finding.severity == "error" for finding in run.findings)
    found = counted(sure, "race") if sure else "No races"
    return f"{found}, {count - sure:,} unconfirmed" if count > sure else found


def raced_extent(run: SavedRun) -> str:
    """How much was executed."""
    return f"{_capital(raced_words(run.race))}. {run.seconds:,.1f} s."


def raced_words(counts: dict[str, Any]) -> str:
    """How far a run is, in one line."""
    return ", ".join(f"{counts.get(key, 0):,} {name}" for key, name in _COLUMNS)


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
