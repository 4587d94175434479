"""Runs the benchmarks and prints what was measured, beside what it is compared with: `make bench`.

    python bench/run.py                     all but those that take long (LONG)
    python bench/run.py tracing             some
    python bench/run.py --json figures.json also as JSON
    python bench/run.py --write             write the table into bench/FIGURES.md, with the commit that was measured

The exit status is 0 even where a target is missed; it is 1 if something broke.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from kit import HERE, Broken, Row, run

BENCHMARKS = (
    "rate_command",
    "rate_forks",
    "rate_callable",
    "tracing",
    "memory_tracing",
    "large_trace",
    "lint",
    "match",
    "failure_points",
    "assertions",
    "assertions_cc",
    "search",
    "growth",
    "guard",
    "heal",
    "start_up",
    "race_cost",
    "runtimes",
)
RACES = ("race", "race_beside", "race_budgets", "race_maps", "race_programs")
LONG = ("budgets", "deep", "fixes", "order", *RACES, "several")  # only by name
FIGURES = HERE / "FIGURES.md"
HEAD = ("what", "measured", "compared with", "", "ratio", "target", "met")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of: {', '.join(BENCHMARKS + LONG)}")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures into a file, too")
    parser.add_argument("--write", action="store_true", help="write the table into bench/FIGURES.md")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS + LONG]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS + LONG)}")
    rows: list[Row] = []
    broken = 0
    for name in options.names or BENCHMARKS:
        found, seconds = run_one(name)
        broken += found is None
        rows += found or []
        print(f"{name}: {seconds:.0f} s", file=sys.stderr)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(table(rows), end="")
    if options.json is not None:
        options.json.write_text(json.dumps([row.as_dict() for row in rows], indent=2) + "\n")
    if options.write:
        FIGURES.write_text(page(options.names, rows))
    return 1 if broken else 0


def page(names: Sequence[str], rows: Sequence[Row]) -> str:
    """The table as a page that says what it was measured on."""
    commit = run(["git", "describe", "--always", "--dirty"], cwd=HERE).strip()
    lines = [
        "# Figures",
        "",
        f"Written by `python bench/run.py {' '.join([*names, '--write'])}`; do not edit. Measured on commit {commit}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end.",
        "",
        f"| {' | '.join(column or '-' for column in HEAD)} |",
        f"|{'---|' * len(HEAD)}",
        *(f"| {' | '.join(cells(row))} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def run_one(name: str) -> tuple[list[Row] | None, float]:
    """The rows of one benchmark, None if it broke, and how long it took."""
    start = time.monotonic()
    try:
        rows: list[Row] | None = importlib.import_module(name).measure()
    except Broken as error:
        print(f"{name}: {error}", file=sys.stderr)
        rows = None
    except Exception:
        traceback.print_exc()
        rows = None
    return rows, time.monotonic() - start


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned columns."""
    lines = [HEAD, *(cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    right = (False, True, False, True, True, False, False)
    text = ""
    for line in lines:
        columns = zip(line, widths, right, strict=True)
        text += "  ".join(cell.rjust(width) if flush else cell.ljust(width) for cell, width, flush in columns).rstrip()
        text += "\n"
    return text


def cells(row: Row) -> tuple[str, ...]:
    """One row as text."""
    compared = "" if row.compared is None else f"{number(row.compared)} {row.unit}"
    ratio = "" if row.ratio is None else number(row.ratio)
    met = {True: "yes", False: "NO", None: ""}[row.met]
    return row.name, f"{number(row.measured)} {row.unit}", row.against, compared, ratio, row.target, met


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
