"""Random small runs for the models: valid sequences of operations, and the trace that a tracer would write of them."""

from __future__ import annotations

import random

from powercut.trace.layout import Fence, Flag, Flush, Kind, MemoryKind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter
from tests.models.brute_force import World

NAMES = ["a", "b", "c"]
KINDS = [
    *("create", "create", "mkdir", "link", "unlink", "rename", "rename", "write", "write", "write", "write"),
    *("truncate", "truncate", "falloc", "falloc", "chmod", "fsync", "fsync", "fsyncdir", "fdatasync", "sync"),
    "exchange",
]
MEMORY_KINDS = [
    *("create", "create", "rename", "write", "truncate", "size", "size", "fsync", "fdatasync", "sync"),
    *("store",) * 8,
    *("flush",) * 5,
    *("fence",) * 4,
    *("msync",) * 3,
]
CHUNKS = [(0, 1), (0, 3), (2, 4), (4094, 4), (4096, 2), (0, 4096), (4000, 5000)]


class RunMaker:
    """Makes random operations that are valid one after the other."""

    def __init__(self, seed: int, kinds: list[str] | None = None, *, zeros: bool = False) -> None:
        """`zeros`: every second write is of zeros."""
        self.zeros = zeros
        self.random = random.Random(seed)
        self.kinds = kinds or KINDS
        self.world = World()
        self.ops: list[tuple] = []

    def make(self, length: int) -> list[tuple]:
        while len(self.ops) < length:
            op = self._pick()
            if op is not None:
                self._apply(op)
                self.ops.append(op)
        return self.ops

    def _files(self) -> list[str]:
        return [p for p, o in self._paths() if o not in self.world.folders]

    def _paths(self) -> list[tuple[str, int]]:
        found = []

        def walk(folder: int, prefix: str) -> None:
            for (f, name), obj in sorted(self.world.names.items()):
                if f == folder:
                    found.append((prefix + name, obj))
                    if obj in self.world.folders:
                        walk(obj, prefix + name + "/")

        walk(0, "")
        return found

    def _new_path(self) -> str:
        folders = ["", *(p + "/" for p, o in self._paths() if o in self.world.folders)]
        return self.random.choice(folders) + self.random.choice(NAMES)

    def _pick(self) -> tuple | None:
        rnd, files = self.random, self._files()
        paths = dict(self._paths())
        kind = rnd.choice(self.kinds)
        new = self._new_path()
        if kind in ("create", "mkdir"):
            if new in paths or (kind == "mkdir" and len(self.world.folders) > 2):
                return None
            return (kind, new)
        if kind == "sync":
            return ("sync",) if rnd.random() < 0.3 else None
        if kind == "fsyncdir":
            folders = [p for p, o in paths.items() if o in self.world.folders]
            return (rnd.choice(["fsync", "fdatasync"]), rnd.choice(["", *folders]))
        if kind == "fence":
            return ("fence", rnd.choice([1, 2]))
        if not files:
            return None
        path = rnd.choice(files)
        if kind in ("store", "flush", "msync", "size"):
            return self._pick_memory(kind, path)
        if kind == "link":
            return ("link", path, new) if new not in paths else None
        if kind == "unlink":
            return ("unlink", path)
        if kind == "rename":
            taken = paths.get(new)
            return ("rename", path, new) if taken != paths[path] and taken not in self.world.folders else None
        if kind == "write":
            at, size = rnd.choice(CHUNKS)
            if rnd.random() < 0.3:
                at = self.world.size[paths[path]]
            letters = b"\0" if self.zeros and rnd.random() < 0.5 else b"ABCDEF"
            data = bytes(rnd.choice(letters) for _ in range(4)) * (size // 4 + 1)
            return ("write", path, at, data[:size], rnd.choice(["", "", "", "", "sync", "dsync", "direct"]))
        if kind == "truncate":
            return ("truncate", path, rnd.choice([0, 2, 4096, 4097]))
        if kind == "falloc":
            how = rnd.choice(["", "keep", "punch", "punch", "zero", "zerokeep"])
            return ("falloc", path, rnd.choice([0, 0, 1]), rnd.choice([2, 3, 4096, 4100]), how)
        if kind == "exchange":
            other = rnd.choice(files)
            return ("exchange", path, other) if paths[path] != paths[other] else None
        if kind == "chmod":
            return ("chmod", path, rnd.choice([0o600, 0o640]))
        return (kind, path)

    def _pick_memory(self, kind: str, path: str) -> tuple | None:
        rnd, thread = self.random, self.random.choice([1, 1, 1, 2])
        if kind == "size":
            return ("truncate", path, rnd.choice([100, 4100, 8192]))
        if kind == "flush":
            return ("flush", path, rnd.choice([0, 0, 64, 4096]), thread, rnd.choice(["clwb", "clwb", "clflush"]))
        if kind == "msync":
            return ("msync", path, rnd.choice([0, 4096]), rnd.choice([1, 4096, 8192]))
        at, size = rnd.choice([(0, 8), (0, 4), (8, 8), (60, 4), (64, 8), (98, 4), (4096, 8), (512, 8)])
        data = bytes(rnd.choice(b"ABCDEF") for _ in range(size))
        return ("store", path, at, data, thread, rnd.choice(["", "", "", "nt"]))

    def _apply(self, op: tuple) -> None:
        world = self.world
        if op[0] in ("create", "mkdir"):
            world.names[world.place(op[1])] = world.next
            if op[0] == "mkdir":
                world.folders.add(world.next)
            else:
                world.size[world.next] = 0
            world.next += 1
        elif op[0] == "link":
            world.names[world.place(op[2])] = world.obj(op[1])
        elif op[0] == "unlink":
            del world.names[world.place(op[1])]
        elif op[0] == "rename":
            world.names[world.place(op[2])] = world.names.pop(world.place(op[1]))
        elif op[0] == "write":
            obj = world.obj(op[1])
            world.size[obj] = max(world.size[obj], op[2] + len(op[3]))
        elif op[0] == "truncate":
            world.size[world.obj(op[1])] = op[2]
        elif op[0] == "exchange":
            one, other = world.place(op[1]), world.place(op[2])
            world.names[one], world.names[other] = world.names[other], world.names[one]
        elif op[0] == "falloc" and op[4] in ("", "zero"):
            obj = world.obj(op[1])
            world.size[obj] = max(world.size[obj], op[2] + op[3])


SYNCS = ("fsync", "fdatasync", "sync", "msync", "flush", "fence")


def without_some_syncs(ops: list[tuple], seed: int) -> tuple[list[tuple], list[int]]:
    """The run of a program that lacks some of the syncs, flushes and fences, and which operations these were."""
    rnd = random.Random(seed)
    gone = [
        i
        for i, op in enumerate(ops)
        if (op[0] in SYNCS or (op[0] == "write" and "sync" in op[4])) and rnd.random() < 0.5
    ]
    return [_unsynced(op) if i in gone else op for i, op in enumerate(ops)], gone


def _unsynced(op: tuple) -> tuple:
    """What is left of an operation: the write itself, or a word in its place."""
    return (*op[:4], "") if op[0] == "write" else ("print", b"")


def event_of(trace: Trace, op: int) -> int:
    """The index of an operation's event: of the one record that matters, if it is a run."""
    written = [index for index, _ in trace.calls()]
    return written[op + 2] - 1 if op + 2 < len(written) else len(trace.events) - 1


def to_trace(ops: list[tuple], *, in_runs: bool = False) -> Trace:
    """The trace of a run that starts in an empty folder; inode numbers are object numbers plus 100.

    `in_runs`, memory operations that follow each other are one run of records, as a tracer writes them.
    """
    writer, world = _Runs() if in_runs else TraceWriter(), World()
    writer.event(Kind.SNAP_DIR, inode=100, path=b"", extra=0o40755, pid=0)
    for op in ops:
        _event(writer, world, op)
    return writer.trace()


class _Runs(TraceWriter):
    """Keeps records until something else is written."""

    def __init__(self) -> None:
        super().__init__()
        self._records: list[tuple[int, int, int, int, int, int]] = []

    def memory(self, records, **fields):
        self._records += records

    def event(self, kind, **fields):
        self._flush()
        return super().event(kind, **fields)

    def trace(self):
        self._flush()
        return super().trace()

    def _flush(self) -> None:
        records, self._records = self._records, []
        if records:
            super().memory(records)


def _event(writer: TraceWriter, world: World, op: tuple) -> None:
    what = op[0]
    path = op[1].encode() if len(op) > 1 and what not in ("print", "fence") else None
    if what in ("create", "mkdir"):
        kind, mode = (Kind.CREATE, 0o100644) if what == "create" else (Kind.MKDIR, 0o40755)
        writer.event(kind, inode=100 + world.next, path=path, extra=mode)
    elif what == "print":
        writer.event(Kind.OUTPUT, data=op[1], extra=1)
        return
    elif what == "sync":
        writer.event(Kind.SYNC)
    elif what == "fence":
        _record(writer, op[1], (0, 0, 0, 0, MemoryKind.FENCE, Fence.SFENCE))
    else:
        inode = 100 + world.obj(op[1])
        if what == "link":
            writer.event(Kind.LINK, inode=inode, path=path, path2=op[2].encode())
        elif what == "unlink":
            writer.event(Kind.UNLINK, inode=inode, path=path)
        elif what == "rename":
            writer.event(Kind.RENAME, inode=inode, path=path, path2=op[2].encode())
        elif what == "write":
            flag = {"": 0, "sync": Flag.SYNC, "dsync": Flag.DSYNC, "direct": Flag.DIRECT}[op[4]]
            writer.event(Kind.WRITE, inode=inode, offset=op[2], data=op[3], flags=flag)
        elif what == "truncate":
            writer.event(Kind.TRUNCATE, inode=inode, length=op[2])
        elif what == "falloc":
            mode = {"": 0, "keep": 1, "punch": 3, "zero": 16, "zerokeep": 17}[op[4]]
            writer.event(Kind.FALLOCATE, inode=inode, offset=op[2], length=op[3], extra=mode)
        elif what == "exchange":
            exchanged = {"path": path, "path2": op[2].encode(), "flags": Flag.EXCHANGE}
            writer.event(Kind.RENAME, inode=inode, **exchanged)
        elif what == "chmod":
            writer.event(Kind.SETATTR, inode=inode, extra=op[2])
        elif what == "store":
            kind = MemoryKind.STORE_NONTEMPORAL if op[5] else MemoryKind.STORE
            value = int.from_bytes(op[3], "little")
            _record(writer, op[4], (value, op[2], 0, inode, kind, len(op[3])))
        elif what == "flush":
            how = {"clflush": Flush.CLFLUSH, "clwb": Flush.CLWB}[op[4]]
            _record(writer, op[3], (0, op[2], 0, inode, MemoryKind.FLUSH, how))
        elif what == "msync":
            writer.event(Kind.MSYNC, inode=inode, offset=op[2], length=op[3], extra=4)
        else:
            writer.event(Kind.FSYNC if what == "fsync" else Kind.FDATASYNC, inode=inode)
    _follow(world, op)


def _record(writer: TraceWriter, thread: int, record: tuple[int, int, int, int, int, int]) -> None:
    """A run of one record, with its file's inode as the file's number."""
    told = [(thread, 0, 0, 0, MemoryKind.THREAD, 0), (record[3], 0, 0, record[3], MemoryKind.FILE, 0)]
    writer.memory([*told, record])


def _follow(world: World, op: tuple) -> None:
    maker = RunMaker(0)
    maker.world = world
    maker._apply(op)
