"""Applying the baseline to what a run or an analysis has found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from powercut.findings.baseline import DEFAULT, Baseline, Identified
from powercut.runs.store import write_durably
from powercut.search.events import Said, Subscriber

_MOST_NAMED = 5


def load_baseline(path: Path, *, write: bool = False) -> Baseline:
    """The baseline of a run; one that was named must be there, unless it is to be written."""
    return Baseline.load(path, required=path.name != DEFAULT and not write)


def apply_baseline(
    path: Path,
    found: Sequence[Identified],
    kinds: Iterable[str],
    tell: Subscriber,
    seen: Sequence[Identified] | None = None,
    *,
    write: bool = False,
) -> list[str]:
    """Mark what is known, say which known ids were not found, and write everything down if that is asked for.

    `kinds` are those that were looked for: others in the file are not expected. `seen` is what was found, if not all
    of it counts. Returns the warnings.
    """
    baseline = load_baseline(path, write=write)
    missing = baseline.missing(found if seen is None else seen, kinds)
    told = []
    if missing:
        names = ", ".join(missing[:_MOST_NAMED]) + (" and more" if missing[_MOST_NAMED:] else "")
        told.append(f"the baseline {path} has ids that were not found: {names}. Remove those that are fixed")
        tell(Said(told[0], warning=True))
    if write:
        baseline = baseline.with_all(found)
        write_durably(path, baseline.text().encode("utf-8", "replace"))
        tell(Said(f"wrote the baseline {path}; give each entry a reason"))
    baseline.mark(found)
    return told
