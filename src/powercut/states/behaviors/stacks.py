"""Call stacks as paths of a tree: which function two operations have in common, and where in it each one stands.

Before: the stacks of a trace, innermost frame first. After: for each stack the nodes on its way from the outermost
frame inwards. A node is a way of exact call sites; it stands for the function that was called from the last of them, so
two stacks with a common node were in that function in one and the same place of the program above it. Nothing but the
recorded addresses is needed: no symbols, no debug information.

Left out are the innermost frames that lie in the C library, which say only how the program makes a call, and the
frames of a Python interpreter, whose Python frames say it better. A Python frame counts by its line: where inside of
it the interpreter stands depends on what it made of the code meanwhile.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from powercut.quick_dataclass import dataclass
from powercut.states.behaviors.hash_mixing import mix
from powercut.trace.layout import FRAME, TableKind
from powercut.trace.pycode import PyCode, parse_pycode
from powercut.trace.reader import Trace

DEEPEST = 64  # frames told apart, from the outermost on; what lies deeper counts as one
_NATIVE, _PYTHON = 1, 2
_TOLD = (3, 4)  # by a runtime: of the thread itself, of whoever asked it
_INTERPRETER = re.compile(r"libpython3.*|python(3(\.\d+)?)?[a-z]*")
_CALLS_THE_KERNEL = re.compile(r"(libc|libpthread|libm|ld|libpmem|libpmem2|linux-vdso|ld-linux-x86-64)[-.].*")

Frame = tuple[int, int, int]  # kind, module or code object, address or line
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class StackTree:
    """The tree of all stacks that some events have.

    Attributes:
        nodes: for each stack its nodes by depth: the root at 0, behind the last frame -1.
        depth: how many frames each stack has.
        below: for each stack and depth a number that stands for the frames from that depth inwards.
        parent: the node above each node, -1 for the root; it has a smaller number.
        level: how deep each node is.
        place: for each stack a number that stands for its innermost frame.
        frames: those frames by number.
        exact: whether the innermost frame of each stack is the instruction itself, and not a call into a library.
    """

    nodes: Ints
    depth: Ints
    below: Words
    parent: Ints
    level: Ints
    place: Ints
    frames: dict[int, Frame]
    exact: npt.NDArray[np.bool_]

    def common(self, one: Ints, other: Ints) -> Ints:
        """How deep the function is that pairs of stacks have in common.

        Two stacks that are the same, too, have the function in common that holds their innermost frame.
        """
        same = (self.nodes[one] == self.nodes[other]) & (self.nodes[one] >= 0)
        shared = np.sum(np.logical_and.accumulate(same, axis=1), axis=1) - 1
        inside = np.minimum(self.depth[one], self.depth[other]) - 1
        found: Ints = np.maximum(np.minimum(shared, inside), 0).astype(np.int32)
        return found


def stack_tree(trace: Trace, stacks: Iterable[int]) -> StackTree:
    """The tree of some stacks, in which the others are empty."""
    modules, codes = _modules(trace), dict[int, PyCode | None]()
    paths = {number: _path(trace, number, modules, codes) for number in sorted(set(stacks) - {0})}
    count = len(trace.table(TableKind.STACK)) + 1
    width = max((min(len(path), DEEPEST) for path in paths.values()), default=0) + 1
    nodes = np.full((count, width), -1, np.int32)
    below = np.zeros((count, width), np.uint64)
    depth, place, exact = np.zeros(count, np.int32), np.zeros(count, np.int32), np.zeros(count, np.bool_)
    nodes[:, 0] = 0
    parent, known, frames = [-1], dict[tuple[int, Frame], int](), dict[Frame, int]()
    for number, path in paths.items():
        told = path[: DEEPEST - 1] if len(path) > DEEPEST else path
        numbers = [frames.setdefault(frame, len(frames) + 1) for frame in path]
        node, rest = 0, 0
        for column, frame in enumerate(told, 1):
            above, node = node, known.setdefault((node, frame), len(parent))
            if node == len(parent):
                parent.append(above)
            nodes[number, column] = node
        for column, inner in reversed(list(enumerate(numbers))):
            rest = mix(rest, inner)
            if column < len(told):
                below[number, column] = rest
        depth[number], place[number] = len(told), numbers[-1] if numbers else 0
        exact[number] = _innermost(trace, number) == path[-1:]
    level = np.zeros(len(parent), np.int32)
    for column in range(1, width):
        level[nodes[:, column][nodes[:, column] >= 0]] = column
    numbered = {number: frame for frame, number in frames.items()}
    return StackTree(nodes, depth, below, np.array(parent, np.int32), level, place, numbered, exact)


def _modules(trace: Trace) -> list[str]:
    """The names of all modules; number 0 is the unknown one."""
    count = len(trace.table(TableKind.MODULE))
    paths = [trace.entry(TableKind.MODULE, number).partition(b"\0")[0] for number in range(1, count + 1)]
    return ["", *(posixpath.basename(path.decode("utf-8", "replace")) for path in paths)]


def _innermost(trace: Trace, stack: int) -> list[Frame]:
    found: list[Frame] = np.frombuffer(trace.entry(TableKind.STACK, stack)[: FRAME.itemsize], FRAME).tolist()
    return found


def _path(trace: Trace, stack: int, modules: list[str], codes: dict[int, PyCode | None]) -> list[Frame]:
    """The frames of a stack that count, the outermost first."""
    raw = trace.entry(TableKind.STACK, stack)
    frames: list[Frame] = np.frombuffer(raw[: len(raw) // FRAME.itemsize * FRAME.itemsize], FRAME).tolist()
    native = [frame for frame in frames if frame[0] == _NATIVE]
    python = [_by_line(trace, frame, codes) for frame in frames if frame[0] == _PYTHON]
    python += [frame for frame in frames if frame[0] in _TOLD]
    names = [modules[ref] if ref < len(modules) else "" for _, ref, _ in native]
    if python:
        outside = next((i for i, name in enumerate(names) if _INTERPRETER.fullmatch(name)), len(native))
        native, names = native[:outside], names[:outside]
    own = next((i for i, name in enumerate(names) if not _CALLS_THE_KERNEL.fullmatch(name)), len(native))
    path = [*native[own:], *python] or native or python or frames
    return path[::-1]


def _by_line(trace: Trace, frame: Frame, codes: dict[int, PyCode | None]) -> Frame:
    """A Python frame with its line instead of the instruction, where the line is known."""
    kind, ref, offset = frame
    if ref not in codes:
        known = 0 < ref <= len(trace.table(TableKind.PYCODE))
        codes[ref] = parse_pycode(trace.entry(TableKind.PYCODE, ref)) if known else None
    code = codes[ref]
    line = code.line_of(offset) if code is not None else None
    return (kind, ref, offset) if line is None else (kind, ref, line)
