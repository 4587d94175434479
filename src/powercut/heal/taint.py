"""Where the data behind a fault came from: the labels board, written before a tainted run and read after it.

Before: ranges of files, each with a number (of the log record that last wrote them). The run is that of
`powercut-ptrace --memory-tool TOOL --board labels=DESCRIPTOR`, which inherits the board's descriptor. After: for each
fault, the numbers that the faulting instruction's operands depend on, and those of the last branches before it; for
each thread of a program that hung or was killed, its last branches. What the memory tracer follows, and what it does
not, is said in native/grind/taint/taint.h. A board may also ask for less: which of its ranges are touched at all.

The traced program can write to the board: what is read is checked, and a set that is no tree is cut short.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Self

import numpy as np

from powercut.heal import board_layout as layout
from powercut.heal.board_layout import BoardFlag, FaultKind, Touch, UseKind
from powercut.quick_dataclass import dataclass

NODES = 1 << 22  # 64 MB of sets, of which only those in use take memory


@dataclass(frozen=True, slots=True, order=True)
class LabelRange:
    """Bytes of a file that have a number."""

    inode: int
    offset: int
    length: int
    number: int

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Use:
    """An instruction that worked with labelled values in a way that can fault.

    Attributes:
        address: what was accessed, or jumped to; 0 for a division.
        labels: the numbers that the address (of a division: the operands) depends on.
    """

    kind: UseKind
    pc: int
    address: int
    labels: frozenset[int]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch by a labelled condition, as it was when the thread last came there.

    Attributes:
        count: how often it came there since the branch was last forgotten.
        stack: in the trace.
        labels: the numbers that the condition depends on.
    """

    pc: int
    count: int
    stack: int
    labels: frozenset[int]


@dataclass(frozen=True, slots=True)
class Thread:
    """What a thread did last with labelled values, newest first."""

    tid: int
    uses: tuple[Use, ...]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the process that owns the board.

    Attributes:
        number: of the signal or the exit code; 0 for `FaultKind.FATAL`: the trace's exit says it.
        stack: in the trace.
        operands: what the faulting instruction itself worked with, if that had labels.
        thread: the one that faulted, as it was then.
    """

    kind: FaultKind
    number: int
    pc: int
    stack: int
    operands: tuple[Use, ...]
    thread: Thread


def without_overlaps(ranges: Iterable[LabelRange]) -> list[LabelRange]:
    """What is left of ranges if each one covers those before it, sorted by inode and offset."""
    files: dict[int, list[LabelRange]] = {}
    for new in ranges:
        kept = files.setdefault(new.inode, [])
        if new.length <= 0:
            continue
        first = bisect_right(kept, new.offset, key=lambda old: old.end)
        last = bisect_left(kept, new.end, key=lambda old: old.offset)
        below = [replace(old, length=new.offset - old.offset) for old in kept[first : first + 1]]
        above = [replace(old, offset=new.end, length=old.end - new.end) for old in kept[last - 1 : last]]
        kept[first:last] = [old for old in (*below[: last - first], new, *above[: last - first]) if old.length > 0]
    return [left for inode in sorted(files) for left in files[inode]]


class LabelsBoard:
    """The board of one run. To be closed, or used as a context, which also frees its memory."""

    def __init__(
        self,
        ranges: Iterable[LabelRange],
        *,
        effects: bool = False,
        faults: bool = True,
        touches: bool = False,
        nodes: int = NODES,
    ) -> None:
        """A board for these ranges, later ones above earlier ones.

        With `effects`, the trace tells what stores into mapped files and outputs depend on (`Kind.EFFECT`). Without
        `faults`, there are no faults, uses and branches, and the run is faster. With `touches`, nothing is followed:
        there is only what `touched` tells.
        """
        rows = [(r.inode, r.offset, r.length, r.number, 0, 0, 0) for r in without_overlaps(ranges)]
        table = np.array(rows, dtype=layout.RANGE)
        where = _Places(layout.HEADER_SIZE, len(rows))
        self.descriptor = os.memfd_create("powercut-labels", 0)
        os.ftruncate(self.descriptor, where.nodes + nodes * layout.NODE.itemsize)
        self._memory = mmap.mmap(self.descriptor, 0)
        header = np.zeros((), dtype=layout.BOARD)
        header["magic"], header["version"] = layout.MAGIC, layout.VERSION
        header["flags"] = BoardFlag.EFFECTS * effects | BoardFlag.FAULTS * faults | BoardFlag.TOUCHES * touches
        header["range_count"], header["node_capacity"] = len(rows), nodes
        header["threads"], header["ranges"], header["nodes"] = where.threads, where.ranges, where.nodes
        self._memory[: layout.BOARD.itemsize] = header.tobytes()
        self._memory[where.ranges : where.ranges + table.nbytes] = table.tobytes()
        self._where, self._capacity, self._range_count = where, nodes, len(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        self._memory.close()
        os.close(self.descriptor)

    @property
    def was_read(self) -> bool:
        """Whether any process touched a page with labelled bytes."""
        return bool(self._header()["owner"])

    @property
    def owner(self) -> int:
        """The process that was followed last; 0: none."""
        return int(self._header()["owner"])

    @property
    def lost(self) -> int:
        """Unions of labels that were not made for want of room: not 0 means that sets may be too small."""
        return int(self._header()["lost"])

    @property
    def refused(self) -> int:
        """Processes that touched labelled bytes but were not followed: another one had the board, or they forked."""
        return int(self._header()["refused"])

    @property
    def effects_left_out(self) -> int:
        """Effects that are not in the trace, as one store or output had too many."""
        return int(self._header()["effects_left_out"])

    def faults(self) -> list[Fault]:
        """The faults, in order; only the first ones are kept."""
        header = self._header()
        count = min(int(header["fault_count"]), layout.FAULTS)
        return [self._fault(record) for record in header["faults"][:count] if record["kind"] in iter(FaultKind)]

    def threads(self) -> list[Thread]:
        """What each thread did last: all there is to know of a program that hung."""
        table = np.frombuffer(self._memory, layout.THREAD, layout.THREADS, self._where.threads).copy()
        return [self._thread(record) for record in table if record["tid"] != 0]

    @property
    def recoveries(self) -> int:
        """How often the program said that its recovery begins."""
        return int(self._header()["recoveries"])

    def touched(self) -> frozenset[int]:
        """The numbers of ranges that the program's own code touched; in its recovery, if it says when that is."""
        table = np.frombuffer(self._memory, layout.RANGE, self._range_count, self._where.ranges)
        when = Touch.RECOVERY if self.recoveries else Touch.ANYTIME
        return frozenset(table["number"][(table["touched"] & when) != 0].tolist())

    def loaded(self) -> dict[int, int]:
        """When each number was loaded last, in the order of all loads; those that were not are missing."""
        table = np.frombuffer(self._memory, layout.RANGE, self._range_count, self._where.ranges)
        mine = table[table["loaded"] != 0]
        mine = mine[np.argsort(mine["loaded"], kind="stable")]
        return dict(zip(mine["number"].tolist(), mine["loaded"].tolist(), strict=True))

    def _header(self) -> np.void:
        header: np.void = np.frombuffer(self._memory, layout.BOARD, 1).copy()[0]
        return header

    def _fault(self, record: np.void) -> Fault:
        pc, thread = int(record["pc"]), self._thread(record["thread"])
        operands = tuple(use for use in thread.uses if pc == (use.address if use.kind == UseKind.JUMP else use.pc))
        kind, number, stack = FaultKind(int(record["kind"])), int(record["number"]), int(record["stack"])
        return Fault(kind, number, pc, stack, operands, thread)

    def _thread(self, record: np.void) -> Thread:
        uses = (
            Use(UseKind(int(u["kind"])), int(u["pc"]), int(u["address"]), self.labels(int(u["labels"])))
            for u in _newest_first(record["uses"])
            if u["kind"] in iter(UseKind)
        )
        branches = (
            Branch(int(b["pc"]), int(b["count"]), int(b["stack"]), self.labels(int(b["labels"])))
            for b in _newest_first(record["branches"])
        )
        return Thread(int(record["tid"]), tuple(uses), tuple(branches))

    def labels(self, number: int) -> frozenset[int]:
        """The numbers in a set."""
        nodes = np.frombuffer(self._memory, layout.NODE, self._capacity, self._where.nodes)
        found, seen = set(), set()
        waiting = [number & ~layout.SOME]
        while waiting:
            at = waiting.pop()
            if at in seen or not 0 < at < len(nodes):
                continue
            seen.add(at)
            key, left, right = nodes[at].item()
            if left == 0:
                found.add(key)
            else:
                waiting += [left, right]
        return frozenset(found)


class _Places:
    """Where the parts of a board lie in the file."""

    def __init__(self, header: int, ranges: int) -> None:
        self.threads = header
        self.ranges = header + layout.THREADS * layout.THREAD.itemsize
        end = self.ranges + ranges * layout.RANGE.itemsize
        self.nodes = -(-end // layout.NODE.itemsize) * layout.NODE.itemsize


def _newest_first(records: np.ndarray) -> Iterator[np.void]:
    used = records[records["order"] != 0]
    yield from used[np.argsort(used["order"], kind="stable")[::-1]]
