"""The labels board for Python: the mirror of native/grind/taint/board.h and of the nodes in sets.h.

Only names, numbers and record layouts live here; tests/unit/test_taint_board.py compares them with the headers.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

import numpy as np

MAGIC, VERSION = 0x4C424C50, 3
THREADS, BRANCHES, USES, FAULTS = 500, 64, 4, 8
HEADER_SIZE = 65536  # bytes kept for the header
SOME = 0x80000000  # added to the number of a node in every set that is not empty


class BoardFlag(IntFlag):
    """What the tracer tells."""

    EFFECTS = 1
    FAULTS = 2
    TOUCHES = 4


class Touch(IntFlag):
    """When the program loaded from a range or stored into it."""

    ANYTIME = 1
    RECOVERY = 2


class UseKind(IntEnum):
    """What an instruction did with a labelled value."""

    LOAD = 1
    STORE = 2
    DIVIDE = 3
    JUMP = 4


class FaultKind(IntEnum):
    """How a process came to its end, or nearly."""

    FATAL = 1
    SIGNAL = 2
    EXIT = 3


NODE = np.dtype([("key", "<u8"), ("left", "<u4"), ("right", "<u4")])
RANGE = np.dtype(
    [
        *(("inode", "<u8"), ("offset", "<u8"), ("length", "<u8"), ("number", "<u8")),
        *(("touched", "<u4"), ("reserved", "<u4"), ("loaded", "<u8")),
    ]
)
USE = np.dtype([("order", "<u8"), ("pc", "<u8"), ("address", "<u8"), ("labels", "<u4"), ("kind", "<u4")])
BRANCH = np.dtype([("order", "<u8"), ("pc", "<u8"), ("count", "<u8"), ("labels", "<u4"), ("stack", "<u4")])
THREAD = np.dtype([("tid", "<i4"), ("next_use", "<u4"), ("uses", USE, USES), ("branches", BRANCH, BRANCHES)])
FAULT = np.dtype(
    [
        *(("order", "<u8"), ("pc", "<u8"), ("kind", "<u4"), ("number", "<i4"), ("stack", "<u4")),
        *(("reserved", "<u4"), ("thread", THREAD)),
    ]
)
BOARD = np.dtype(
    [
        *(("magic", "<u4"), ("version", "<u4"), ("flags", "<u4"), ("range_count", "<u4")),
        *(("threads", "<u8"), ("ranges", "<u8"), ("nodes", "<u8"), ("node_capacity", "<u4"), ("node_count", "<u4")),
        *(("lost", "<u8"), ("order", "<u8"), ("effects_left_out", "<u8"), ("owner", "<i4"), ("refused", "<u4")),
        *(("fault_count", "<u4"), ("recoveries", "<u4"), ("faults", FAULT, FAULTS)),
    ]
)
