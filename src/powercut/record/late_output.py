"""Output that a program kept back to its end: nobody can tell when it promised what.

The tracer makes the C library write line by line. Other libraries buffer for themselves, and then the lines of a whole
run come in one piece when the program ends, as if nothing had been promised before.
"""

from __future__ import annotations

import numpy as np

from powercut.printable import counted
from powercut.trace.layout import Channel, Kind
from powercut.trace.reader import Trace

_CHANGES = (Kind.CREATE, Kind.MKDIR, Kind.SYMLINK, Kind.LINK, Kind.UNLINK, Kind.RENAME, Kind.WRITE)
_FEW = 2  # lines that are no sign of a buffer: many programs end with a summary


def kept_back(trace: Trace) -> str:
    """What to say of a program that printed nothing until all its changes were made, and then everything at once."""
    lines = _most_lines_at_the_end(trace)
    if lines <= _FEW:
        return ""
    return (
        f"the program kept back {counted(lines, 'line')} of output and printed all at once after its last change, "
        "so powercut cannot tell when it promised what. If they are meant to come earlier, let it flush each line "
        "(std::flush in C++, $| = 1 in Perl, $stdout.sync = true in Ruby)"
    )


def _most_lines_at_the_end(trace: Trace) -> int:
    """The lines in the only piece of output of a process that changed something before it, and nothing after it."""
    outputs = trace.of_kind(Kind.OUTPUT)
    outputs = outputs[trace.at("extra", outputs) == Channel.STDOUT]
    processes, first, times = np.unique(trace.at("pid", outputs), return_index=True, return_counts=True)
    alone = zip(processes[times == 1].tolist(), outputs[first[times == 1]].tolist(), strict=True)
    if not len(outputs):
        return 0
    changes = trace.of_kind(*_CHANGES)
    changed_by = trace.at("pid", changes)
    most = 0
    for process, output in alone:
        mine = changes[changed_by == process]
        if len(mine) and mine[-1] < output:
            event = trace.events[output]
            most = max(most, trace.blob(int(event["data"]), int(event["length"])).count(b"\n"))
    return most
