"""The two worked examples of Pathfinder: exactly the published subgraphs, groups and representatives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from powercut.model.filesystem import FILE_SYSTEMS
from powercut.states.behaviors.find import Representatives, representatives_of
from powercut.states.behaviors.functions import function_runs
from powercut.states.behaviors.graph import Behavior, Graph, graph_of
from powercut.states.behaviors.instances import instance_runs
from powercut.states.behaviors.operations import Operations, operations_of
from powercut.states.behaviors.order import order_of
from powercut.states.behaviors.parts import parts_of
from powercut.states.behaviors.runs import Runs
from powercut.states.behaviors.tour import BehaviorTour
from powercut.states.timeline import Timeline
from powercut.trace.layout import FRAME, Fence, Flush, Kind, MemoryKind, TableKind
from powercut.trace.reader import Trace
from powercut.trace.writer import TraceWriter

Record = tuple[int, int, int, int, int, int]


class Program:
    """Writes the trace of a program whose places are words like "Fn4:2"."""

    def __init__(self, *files: str, size: int = 4096) -> None:
        self.writer = TraceWriter()
        self.writer.entry(TableKind.MODULE, b"/bin/program\0")
        self.writer.event(Kind.SNAP_DIR, path=b"", inode=1, extra=0o40755)
        self.inodes = {"": 1}
        for inode, name in enumerate(files, 2):
            self.inodes[name] = inode
            self.writer.event(Kind.SNAP_FILE, path=name.encode(), inode=inode, length=size, extra=0o100644)
        self._called: list[str] = []
        self._places: dict[str, int] = {}
        self._stacks: dict[tuple[str, ...], int] = {}
        self._run: list[Record] = []

    @contextmanager
    def at(self, *places: str) -> Iterator[None]:
        """Inside calls that were made at some places, the outermost first."""
        self._called.extend(places)
        yield
        del self._called[len(self._called) - len(places) :]

    def stack(self, place: str) -> int:
        frames = (*self._called, place)
        if frames not in self._stacks:
            numbers = [self._places.setdefault(frame, len(self._places) + 0x1000) for frame in reversed(frames)]
            content = np.array([(1, 1, number) for number in numbers], FRAME).tobytes()
            self._stacks[frames] = self.writer.entry(TableKind.STACK, content)
        return self._stacks[frames]

    def create(self, place: str, name: str, tid: int = 1) -> None:
        self.inodes[name] = 100 + len(self.inodes)
        self.event(Kind.CREATE, place, name, path=name.encode(), extra=0o100644, tid=tid)

    def write(self, place: str, name: str, offset: int = 0, data: bytes = b"data", tid: int = 1) -> None:
        self.event(Kind.WRITE, place, name, offset=offset, data=data, tid=tid)

    def rename(self, place: str, old: str, new: str) -> None:
        self.event(Kind.RENAME, place, old, path=old.encode(), path2=new.encode())
        self.inodes[new] = self.inodes.pop(old)

    def event(self, kind: Kind, place: str, name: str = "", tid: int = 1, **fields: object) -> None:
        self._end_run()
        self.writer.event(kind, inode=self.inodes[name], stack=self.stack(place), tid=tid, **fields)

    def say(self, place: str, text: bytes = b"done\n", tid: int = 1) -> None:
        self.event(Kind.OUTPUT, place, data=text, extra=1, tid=tid)

    def store(self, place: str, offset: int, file: int = 2) -> None:
        self._run.append((1, offset, self.stack(place), file, MemoryKind.STORE, 8))

    def persist(self, place: str, *offsets: int, file: int = 2) -> None:
        for offset in offsets:
            self._run.append((0, offset, self.stack(place), file, MemoryKind.FLUSH, Flush.CLWB))
        self._run.append((0, 0, self.stack(place), 0, MemoryKind.FENCE, Fence.SFENCE))

    def _end_run(self) -> None:
        if self._run:
            named = [(inode, 0, 0, inode, MemoryKind.FILE, 0) for inode in sorted({r[3] for r in self._run} - {0})]
            self.writer.memory([*named, *self._run])
            self._run = []

    def trace(self) -> Trace:
        self._end_run()
        return self.writer.trace()

    def timeline(self, row: str = "ext4-ordered") -> Timeline:
        return Timeline(self.trace(), FILE_SYSTEMS[row])


def parts_in(runs: Runs) -> list[tuple[int, ...]]:
    """The operations of each run."""
    ends = zip(runs.first.tolist(), runs.end.tolist(), strict=True)
    return [tuple(runs.order[first:end].tolist()) for first, end in ends]


def behavior_of(operations: Operations, members: tuple[int, ...], *, instance: bool = False) -> tuple[Behavior, Graph]:
    """The behavior that consists of some operations, and its graph."""
    every = [instance_runs(operations)] if instance else list(function_runs(operations))
    for runs in every:
        assert runs is not None
        for first, end in zip(runs.first.tolist(), runs.end.tolist(), strict=True):
            if tuple(runs.order[first:end].tolist()) == members:
                behavior = Behavior(runs.what, members, tuple(runs.place[first:end].tolist()))
                return behavior, graph_of(operations, parts_of(operations), behavior)
    raise AssertionError(f"no behavior has just the operations {members}")


def groups_of(found: Representatives) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """The operations of each representative, and those of all members of its group."""
    return {some.representative.operations: {m.operations for m in some.members} for some in found.groups}


def edges_of(timeline: Timeline, updates: list[int]) -> set[tuple[int, int]]:
    masks = order_of(timeline, updates)
    return {(updates[i], updates[j]) for j, mask in enumerate(masks) for i in range(len(updates)) if mask >> i & 1}


# Figures 4, 6 and 7: files


def fn1(program: Program, renames: bool, target: str) -> None:
    """The example program of Figure 4; the name of the second file is where it was last renamed to."""
    second = next(name for name in program.inodes if name.startswith("f2"))
    with program.at("Fn1:1"):
        program.write("Fn2:1", "f1")
        program.write("Fn2:2", "f1")
    with program.at("Fn1:2"):
        with program.at("Fn3:1"):
            program.write("Fn4:1", "f1")
            program.write("Fn4:2", second)
            program.event(Kind.FDATASYNC, "Fn4:3", second)
        with program.at("Fn3:2"):
            if renames:
                program.rename("Fn5:1", second, target)
            program.event(Kind.SYNC, "Fn5:2")


def test_figure_4_persistence_graph() -> None:
    """Writes to the same block are ordered, and the write to f2 comes before the rename that follows its fdatasync."""
    program = Program("f1", "f2")
    fn1(program, True, "f2-new")
    timeline = program.timeline()
    first, second, third, fourth, rename = range(5)
    assert edges_of(timeline, [0, 1, 2, 3, 4]) == {(first, second), (first, third), (second, third), (fourth, rename)}


def test_figure_7_function_subgraphs_and_their_groups_up_the_call_stack_tree() -> None:
    program = Program("f1", "f2")
    fn1(program, True, "f2-new")
    runs = list(function_runs(operations_of(program.timeline())))
    assert parts_in(runs[0]) == [(0, 1), (2, 3, 4), (5, 6)]  # Fn2: 1-2, Fn4: 3-5, Fn5: 6-7
    assert [parts_in(level) for level in runs[1:]] == [
        [(2, 3, 4, 5, 6)],  # Fn3: 3-7
        [(0, 1, 2, 3, 4, 5, 6)],  # Fn1: 1-7
    ]


def test_figure_6_representative_relations() -> None:
    """S3-1 represents S3-2, not the other way round; neither has to do with S2."""
    program = Program("f1", "f2")
    with program.at("main:1"):
        fn1(program, True, "f2-new")
    with program.at("main:2"):
        fn1(program, False, "")
    timeline = program.timeline()
    found = representatives_of(timeline)
    s2, s31, s32 = (0, 1), (2, 3, 4, 5, 6), (9, 10, 11, 12)
    graphs = {members: behavior_of(found.operations, members)[1] for members in (s2, s31, s32)}
    assert {(a, b) for a in graphs for b in graphs if a != b and graphs[a].represents(graphs[b])} == {(s31, s32)}
    groups = groups_of(found)
    assert s32 in groups[s31]
    assert s32 not in groups
    assert not any(s31 in members or s32 in members for members in groups.values() if s2 in members)


def test_functions_too_far_above_others_are_left_out_and_that_is_said() -> None:
    """Nine levels, each of which writes once and calls the next."""
    program = Program("f")
    calls: list[str] = []
    for level in range(9):
        with program.at(*calls):
            program.write(f"f{level}:1", "f")
        calls.append(f"f{level}:2")
    found = representatives_of(program.timeline())
    assert BehaviorTour(found).counts()["functions_left_out"] == 2
    assert "2 functions left out (more than 6 levels above others)" in BehaviorTour(found).cuts()


# What makes two behaviors alike


def twice(program: Program, name: str, first: int, second: int, blocks: int = 1) -> None:
    with program.at("main:1"):
        program.write("f:1", name, first * 4096, b"x" * 4096 * blocks)
        program.write("f:2", name, second * 4096, b"x" * 4096 * blocks)
    for _ in range(12):  # far enough apart in time
        program.event(Kind.SYNC, "g:1")


def test_behaviors_that_differ_in_their_needs_are_not_alike() -> None:
    """Two writes to one block are ordered; to two blocks they are not, and that represents the other."""
    program = Program("file", size=1 << 20)
    for second in (0, 9, 0):
        twice(program, "file", 0, second)
    groups = [some for some in representatives_of(program.timeline()).groups if some.representative.what == "function"]
    assert [[member.alike for member in some.members] for some in groups] == [[1, 2]]


def test_large_writes_are_alike_whatever_their_size() -> None:
    program = Program("a", "b", "c", size=0)
    for name, blocks in (("a", 3), ("b", 50), ("c", 2)):
        twice(program, name, 0, blocks, blocks)
    groups = [some for some in representatives_of(program.timeline()).groups if some.representative.what == "function"]
    alike = sorted(member.alike for some in groups for member in some.members)
    assert alike == [1, 2]  # one is of two blocks, which have no middle


# Listing 1 and Figure 1: files


def set_current_file(program: Program, number: int, syncs_folder: bool) -> None:
    with program.at("Compact:1"):
        with program.at("SetCurrentFile:6"):
            program.create("WriteStringToFile:1", f"{number}.tmp")
            program.write("WriteStringToFile:2", f"{number}.tmp")
            program.event(Kind.FSYNC, "WriteStringToFile:3", f"{number}.tmp")
        program.rename("SetCurrentFile:10", f"{number}.tmp", "CURRENT")
        if syncs_folder:
            program.event(Kind.FSYNC, "SetCurrentFile:14", "")
    for _ in range(12):  # far enough apart in time
        program.write("Log:1", "log")
        program.event(Kind.FSYNC, "Log:2", "log")


def test_listing_1_the_execution_without_the_last_sync_represents_the_others() -> None:
    program = Program("log")
    for number, syncs_folder in enumerate((True, True, False, True)):
        with program.at("main:1"):
            set_current_file(program, number, syncs_folder)
    timeline = program.timeline("posix")
    found = representatives_of(timeline)
    with_sync, without = (29, 30, 31, 32, 33), (58, 59, 60, 61)
    right, wrong = behavior_of(found.operations, with_sync)[1], behavior_of(found.operations, without)[1]
    assert wrong.represents(right)
    assert not right.represents(wrong)
    (group,) = [some for some in found.groups if some.representative.operations == without]
    assert [(member.operations, member.alike) for member in group.members[:2]] == [(without, 1), (with_sync, 3)]


# Figures 5 and 8: memory


def test_figure_8_instance_subgraphs_and_epochs() -> None:
    """Both criteria: M.a is stored to again when all of M is durable; N becomes durable between M.a and M.c."""
    program = Program("pool", size=1 << 20)
    m, n = 0, 1 << 16
    with program.at("FnX:1"):
        for field in range(3):
            program.store(f"FnY:{field}", m + 64 * field)
        program.persist("FnY:3", m, m + 64, m + 128)
        program.store("FnY:4", m)
    with program.at("FnX:2"):
        for field in range(2):
            program.store(f"FnZ:{field}", n + 64 * field)
        program.persist("FnZ:2", n, n + 64)
    with program.at("FnX:3"):
        program.store("FnY:5", m + 128)
        program.persist("FnY:6", m, m + 128)
    runs = instance_runs(operations_of(program.timeline()))
    assert runs is not None
    assert sorted(parts_in(runs)) == [(0, 1, 2), (3,), (4, 5), (6,)]


# Listing 2 and Figure 2: memory

ENTRY = 3 * 64  # key, value and valid, each in a cache line of its own


def insert(program: Program, entry: int, ordered: bool) -> None:
    key, value, valid = (entry * ENTRY + 64 * field for field in range(3))
    name = "insert_ordered" if ordered else "insert"
    with program.at("main:1"):
        program.store(f"{name}:7", key)
        if ordered:
            program.persist(f"{name}:8", key)
        program.store(f"{name}:9", value)
        program.store(f"{name}:10", valid)
        program.persist(f"{name}:12", key, value, valid)


def test_listing_2_insert_represents_insert_ordered() -> None:
    """They are different places of the program, and the fields of one type: told by the stride of the table."""
    program = Program("pool", size=1 << 20)
    for entry, ordered in ((0, False), (1, True), (3, False), (2, True), (5, False), (6, True)):
        insert(program, entry, ordered)
    timeline = program.timeline()
    found = representatives_of(timeline)
    plain, ordered = (behavior_of(found.operations, some, instance=True)[1] for some in ((0, 1, 2), (3, 4, 5)))
    assert plain.represents(ordered)
    assert not ordered.represents(plain)
    (table,) = [some for some in found.groups if some.representative.what == "instance"]
    assert [member.alike for member in table.members] == [3, 3]
    assert table.representative.operations[0] in (0, 6, 12)  # an insert without the order
