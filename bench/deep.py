"""A bug deep in a long run: 100,000 changes of the corpus store, of which one takes a path that skips a sync.

    python bench/deep.py               every mode and the default queue, until the bug is found or 10 minutes are over
    python bench/deep.py --limit 60    less

Representatives must find it within the limit, and so must the default queue; prefixes and exhaustive must not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hunt import MODES, Hunted, Known, hunt
from kit import Row, workspace
from known_bugs import Store, build_store

BUG, WORKLOAD = "deep-rotation", "deep"
LIMIT = 600.0  # seconds
WAYS = {"representative": MODES["representative"], "default queue": {}, **MODES}
FINDERS = ("representative", "default queue")


def measure(limit: float = LIMIT) -> list[Row]:
    """One row for each way of searching: its time, and whether it found the bug as it should or should not."""
    with workspace() as space:
        data = space / "data"
        data.mkdir()
        store = Store(build_store(space), BUG)
        known = Known("store", BUG, data, store.workload(data, WORKLOAD), store.check)
        trace = known.record()
        rows = []
        for name, mode in WAYS.items():
            rows.append(_row(name, hunt(known, trace, mode, limit), limit))
            print(rows[-1].name, f"{rows[-1].measured:.0f} s", file=sys.stderr)
    return rows


def _row(name: str, hunted: Hunted, limit: float) -> Row:
    outcome = "found" if hunted.found else "not found"
    title = f"{BUG} of {WORKLOAD}, {name}: {outcome} after {hunted.states} states"
    should = name in FINDERS
    target = f"{'' if should else 'not '}found in {limit:g} s"
    return Row(title, hunted.seconds, "s", "limit", limit, limit / hunted.seconds, target, hunted.found is should)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each; the exit status is 1 if one did not do as it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for each search")
    rows = measure(parser.parse_args(arguments).limit)
    for row in rows:
        print(f"{row.name}, {row.measured:.0f} s ({row.target}: {'yes' if row.met else 'NO'})")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
