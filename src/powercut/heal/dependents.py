"""Updates that must be undone with others: those that refer to objects they made, and those of the same line.

Before: the history of a pool, and updates that shall be taken back. After: others that were made because of them, or in
the same way. Both are read from the log alone: nobody watched what the service read while it ran.
"""

from __future__ import annotations

import numpy as np

from powercut.arrays import distinct
from powercut.guard.endings import place_calls
from powercut.guard.history import History
from powercut.guard.log import RecordKind
from powercut.heal.heal_plan import Groups
from powercut.heal.references import References

Records = frozenset[int]


def dependents(history: History, records: Records, references: References | None = None) -> Records:
    """Updates that hold an object's offset, as PMDK's object ids do, of objects whose making is taken back.

    And those that depend on them in their turn; not those that can refer to something else (`references`).
    """
    references, groups = references or References(history), Groups(history)
    found, waiting, seen = set(records), list(records), set[int]()
    relinked = {patch.offset for patch in references.relinked(records)}
    while waiting:
        for offset in set(references.made_with(waiting.pop())) - seen:
            seen.add(offset)
            for at, holder in references.to(offset):
                if holder not in found and at not in relinked:
                    more = groups.with_record(holder) - found
                    found |= more
                    waiting += more
    return frozenset(found) - records


def made_by_same_line(history: History, record: int) -> list[int]:
    """What the line that made a record has made, in all runs of the service, the newest first."""
    log, made = history.log, []
    wanted = _line(history, record)
    runs = np.searchsorted(log.of_kind(RecordKind.START), history.changes, side="right")
    for run in distinct(runs).tolist():
        changes = history.changes[runs == run]
        sites = log.records["site"][changes]
        known = distinct(sites[sites != 0]).tolist()
        lines = place_calls(log, known, before=int(changes[0]))
        same = [site for site, line in zip(known, lines, strict=True) if line == wanted]
        made += changes[np.isin(sites, same)].tolist()
    return made[::-1] or [record]


def _line(history: History, record: int) -> str:
    return place_calls(history.log, [int(history.log.records["site"][record])], before=record)[0]
