"""The last runs of random workloads on real file systems, from the ledger of the kernel rig."""

from __future__ import annotations

import sys
from pathlib import Path

from powercut.model.filesystem import FILE_SYSTEMS

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.kernel import ledger


def reference() -> str:
    """A row for each file system and kernel."""
    lines = [
        "| row | kernel | workloads | seeds | images | distinct states | undecided | workloads with a forbidden state |"
    ]
    lines.append("|---" * 8 + "|")
    for run in sorted(ledger.runs(), key=lambda run: (list(FILE_SYSTEMS).index(run.fs), run.kernel)):
        seeds = f"{run.seed} to {run.seed + run.workloads - 1}"
        facts = (run.fs, run.kernel, run.workloads, seeds, run.images, run.states, run.undecided, run.forbidden)
        lines.append(f"| {' | '.join(str(fact) for fact in facts)} |")
    return "\n".join(lines)
