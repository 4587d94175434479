"""The trace format for Python: the mirror of native/trace_format.h, which is the one definition.

Only names, numbers and record layouts live here; tests/unit/test_layout.py compares every one of them with the header.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

import numpy as np

TRACE_MAGIC = b"PCUTTRAC"
TRACE_VERSION = 1
EXTENT_MAGIC = 0x58454350
HEADER_SIZE = 64
EXTENT_HEADER_SIZE = 64
LINE = 64  # bytes of a cache line, which a flush writes back


class ExtentKind(IntEnum):
    """What an extent holds."""

    EVENTS = 1
    TABLE = 2
    BLOBS = 3


class Kind(IntEnum):
    """What an event is; see the header for the meaning of each field."""

    SNAP_DIR = 1
    SNAP_FILE = 2
    SNAP_DATA = 3
    SNAP_SYMLINK = 4
    SNAP_OTHER = 5
    CREATE = 10
    MKDIR = 11
    SYMLINK = 12
    MKNOD = 13
    LINK = 14
    UNLINK = 15
    RMDIR = 16
    RENAME = 17
    WRITE = 20
    TRUNCATE = 21
    FALLOCATE = 22
    SETATTR = 23
    SETXATTR = 24
    DELXATTR = 25
    CLOSE = 26
    FSYNC = 30
    FDATASYNC = 31
    SYNC = 32
    SYNCFS = 33
    MSYNC = 34
    SYNC_RANGE = 35
    MMAP = 40
    OUTPUT = 41
    EXEC = 50
    FORK = 51
    EXIT = 52
    NOTE = 53
    SIGNAL = 54
    MEMORY = 60
    STORE = 61
    FLUSH = 62
    FENCE = 63
    UNMAP = 64
    ASSERTION = 65
    LOAD = 66
    CANDIDATE = 67
    EFFECT = 68
    ORDER = 69
    LOOK_NAME = 70
    LOOK_DATA = 71
    LOOK_MAP = 72
    LOOK_REMAP = 73
    LOOK_FACTS = 74
    LOOK_LIST = 75
    LOOK_ATTRIBUTES = 76
    LOOK_UNSURE = 77
    LOOK_CUT = 78
    LOOK_PAGES = 79
    LOOK_WORDS = 80


class Flag(IntFlag):
    """Modifiers of an event."""

    SYNC = 1
    DSYNC = 2
    DIRECT = 4
    APPEND = 8
    TMPFILE = 16
    OPEN = 32
    EXCHANGE = 64
    THREAD = 128
    IMPORT = 256
    EXPORT = 512
    READONLY = 1024
    NONTEMPORAL = 2048
    LOCKED = 4096
    KERNEL = 8192
    REST = 16384
    ADDED = 32768


class Channel(IntEnum):
    """Where an output went."""

    STDOUT = 1
    STDERR = 2
    SOCKET = 3


class MemoryKind(IntEnum):
    """What a memory record is."""

    THREAD = 1
    FILE = 2
    STORE = 3
    STORE_NONTEMPORAL = 4
    STORE_LOCKED = 5
    STORE_KERNEL = 6
    FLUSH = 7
    FENCE = 8
    UNMAP = 9
    ASSERTION = 10
    LOAD = 11
    CANDIDATE = 12
    EFFECT = 13
    ORDER = 14
    REST = 128


class Flush(IntEnum):
    """Which instruction wrote a cache line back."""

    CLFLUSH = 1
    CLFLUSHOPT = 2
    CLWB = 3


class Fence(IntEnum):
    """What made a thread's flushes complete."""

    SFENCE = 1
    MFENCE = 2
    LOCKED = 3


class Effect(IntFlag):
    """How something durable depends on what was not guaranteed when it was read."""

    VALUE = 1
    ADDRESS = 2
    OUTPUT = 4


class Order(IntEnum):
    """What orders threads."""

    LOCK = 1
    UNLOCK = 2
    LOCK_SHARED = 3
    JOIN = 4
    SEND = 5
    RECEIVE = 6
    STUCK = 7
    SYNC_VAR = 16


class TableKind(IntEnum):
    """What an interned entry is."""

    STRING = 1
    MODULE = 2
    STACK = 3
    PYCODE = 4
    META = 5
    TOLD = 6


EVENT = np.dtype(
    [
        ("kind", "<u2"),
        ("flags", "<u2"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("stack", "<u4"),
        ("inode", "<u8"),
        ("offset", "<u8"),
        ("length", "<u8"),
        ("data", "<u8"),
        ("extra", "<u8"),
        ("path", "<u4"),
        ("path2", "<u4"),
    ]
)
# An event as a plain tuple, for loops over many: the position of each field.
Record = tuple[int, ...]
KIND, FLAGS, PID, TID, STACK, INODE, OFFSET, LENGTH, DATA, EXTRA, PATH, PATH2 = range(12)

ENTRY = np.dtype([("kind", "<u4"), ("id", "<u4"), ("data", "<u8"), ("length", "<u8"), ("extra", "<u8")])
EXTENT_HEADER = np.dtype([("magic", "<u4"), ("kind", "<u4"), ("capacity", "<u8"), ("used", "<u8"), ("rest", "V40")])
FRAME = np.dtype([("kind", "<u4"), ("ref", "<u4"), ("addr", "<u8")])
MEMORY = np.dtype(
    [("value", "<u8"), ("offset", "<u8"), ("stack", "<u4"), ("file", "<u2"), ("kind", "<u1"), ("size", "<u1")]
)
