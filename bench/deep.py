"""A bug deep in a long run: 100,000 changes of the corpus store, of which one takes a path that skips a sync.

    python bench/deep.py               every mode and the default queue, until the bug is found or 10 minutes are over
    python bench/deep.py --limit 60    less

Representatives must find it within the limit, and so must the default queue; prefixes and exhaustive must not. What is
lost there stays lost, so random states of later points find it, too: that is a line of its own, without a target.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hunt import MODES, Hunted, Known, hunt
from kit import Row, workspace
from known_bugs import Store, build_store
from run import table

BUG, WORKLOAD = "deep-rotation", "deep"
LIMIT = 600.0  # seconds
WAYS = {
    "representative": MODES["representative"],
    "default queue": {},
    "exhaustive": {"strategies": "exhaustive", "equivalence": False},
    "exhaustive and random": MODES["exhaustive"],
    "prefix only": MODES["prefix only"],
}
SHOULD = {"representative": True, "default queue": True, "exhaustive": False, "prefix only": False}


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
    ratio = limit / hunted.seconds
    if name not in SHOULD:
        return Row(title, hunted.seconds, "s", "limit", limit, ratio)
    target = f"{'' if SHOULD[name] else 'not '}found in {limit:g} s"
    return Row(title, hunted.seconds, "s", "limit", limit, ratio, target, hunted.found is SHOULD[name])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each way; the exit status is 1 if one did not do as it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for each search")
    rows = measure(parser.parse_args(arguments).limit)
    print(table(rows), end="")
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
