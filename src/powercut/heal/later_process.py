"""Which process of a restart failed after the one that used the pool had ended well.

Before: the trace of a restart that failed, and the process that read the pool. After: the name of the one that failed
instead, if no other had failed before the process of the pool ended with status 0. It may judge what that one printed
or wrote, so the pool may be the cause all the same: only a restart without the suspected updates can tell.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from powercut.trace.layout import Kind
from powercut.trace.reader import Trace


def failed_later(trace: Trace, owner: int) -> str | None:
    """The name of that process; None: there is none, or nobody read the pool."""
    events = trace.events
    ends = np.flatnonzero(events["kind"] == Kind.EXIT)
    own = [index for index in ends.tolist() if int(events["pid"][index]) == owner]
    if not own or int(events["extra"][own[-1]]) != 0:
        return None
    failed = [index for index in ends.tolist() if int(events["extra"][index]) != 0]
    if not failed or failed[0] < own[-1]:
        return None
    return _program(trace, int(events["pid"][failed[0]]), failed[0])


def _program(trace: Trace, pid: int, until: int) -> str:
    """What a process executed last, or if it executed nothing, the command."""
    events = trace.events[:until]
    mine = np.flatnonzero((events["kind"] == Kind.EXEC) & (events["pid"] == pid))
    if len(mine):
        return Path(trace.string(int(events["path"][mine[-1]])).decode("utf-8", "replace")).name
    command = trace.meta.get("command", b"").split(b"\0")[0]
    return Path(command.decode("utf-8", "replace")).name or "another process"
