"""False verdicts of races: twenty programs with a plain crash bug beside a race that does no harm (corpus/race/beside).

    python bench/race_beside.py                   all of them, one after the other
    python bench/race_beside.py half-locked       one of them

A program counts as right if its crash bug is named as such, at its line, and no race is called a bug.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from kit import HERE, Row, workspace
from run import table

sys.path.insert(0, str(HERE.parent / "corpus"))

import race_beside  # isort: skip

BUDGET = 20.0  # seconds for each program


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="BUG-RACE")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS", help="for each program")
    options = parser.parse_args(arguments)
    print(table(measure(options.names, options.budget)), end="")


def measure(names: Sequence[str] = (), budget: float = BUDGET) -> list[Row]:
    """All programs."""
    right = runs = 0
    for pair in race_beside.pairs():
        name = f"{pair.bug}-{pair.race}"
        if names and name not in names:
            continue
        with workspace() as space:
            began = time.monotonic()
            wrong = list(pair.complaints(pair.look(space, f"{budget:g}s")))
            print(f"{name}: {time.monotonic() - began:.1f} s; {'; '.join(wrong) or 'right'}", file=sys.stderr)
        runs += 1
        right += not wrong
    what = "plain crash bugs named, and no race called a bug"
    return [Row(what, right, "", "programs", runs, None, "all", right == runs)]


if __name__ == "__main__":
    main()
