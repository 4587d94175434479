"""What an update changes, in words that are the same in another run and on another machine.

Before: updates with paths and offsets. After: what kind of thing they change (names, content, attributes), which file,
without numbers and what looks random in its path, and roughly where in it. Ids and sites are made of this.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from powercut.states.timeline import Timeline
from powercut.states.updates import UpdateKind
from powercut.trace.layout import Flag

_RANDOM = re.compile(
    r"(?<![a-z])tmp[a-z0-9_]{8}(?![a-z0-9_])"  # of Python
    # ... behind a prefix of the program's own: with a digit in it, or where nothing follows that makes it a word.
    r"|(?<![a-z])tmp[._-](?:(?=[a-z0-9_]*[0-9])[a-z0-9_]{8}(?![a-z0-9_])|[a-z0-9_]{8}(?![a-z0-9_.]))"
    # Of mkstemp: six letters and digits behind a separator, that are neither a word nor a name.
    r"|(?<=[._-])(?=[A-Za-z0-9]*(?:[a-z][A-Za-z0-9]*[A-Z]|[0-9]))[A-Za-z0-9]{6}(?![A-Za-z0-9])"
    r"|(?<![^/])(?:[0-9a-f]{2}/)+[0-9a-f]{8,}(?![A-Za-z])"  # digests in folders named for their first digits
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"  # UUIDs
    r"|(?<![A-Za-z])[0-9A-Fa-f]{8,}(?![A-Za-z])"  # digests
    r"|\d{3,}"  # counters and times; `table1` and `table2` are two files: without lines their names are all there is
)


class Target(NamedTuple):
    """What is changed.

    Attributes:
        changed: "name", "content" or "attributes": they take different syncs.
        path: of which file.
        place: where in it: at its "start" or "later"; where it is appended to, at its "end"; in persistent memory the
            offset. Empty for names and attributes.
    """

    changed: str
    path: str
    place: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, self))


def target_of(timeline: Timeline, update: int) -> Target:
    """What an update changes."""
    updates = timeline.updates
    kind, obj, start = timeline.kind(update), updates.obj[update], updates.start[update]
    path = plain_path(timeline.index.path_of(obj, at=update).decode("utf-8", "replace"))
    if kind is UpdateKind.ENTRY:
        return Target("name", path)
    if kind in (UpdateKind.MODE, UpdateKind.XATTR):
        return Target("attributes", path)
    if obj in timeline.in_lines:
        return Target("content", path, str(start))
    if timeline.trace.events["flags"][timeline.event[update]] & Flag.APPEND:
        return Target("content", path, "end")
    return Target("content", path, "start" if start == 0 else "later")


def plain_path(path: str) -> str:
    """A path without numbers and what looks random in it."""
    return _RANDOM.sub("#", path)
