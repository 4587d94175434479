"""Libraries of persistent memory: which call stacks are inside one, doing its own work rather than its caller's.

PMDK's libraries store, flush and fence on their own account: logs, heap, lanes, the commit of a transaction. What they
do there they do on purpose, and their user could not change it. But a call of `pmem_persist` is the user's own flush.
So a stack belongs to the library if its innermost frames, leaving out the C library, are in one, and the function by
which the program entered it is not one that stores, flushes or fences for its caller. That function may have no frame,
since it ended in a jump; then the program's own call tells which it was.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from powercut.lint.call_sites import CallSites
from powercut.trace.layout import FRAME, TableKind
from powercut.trace.reader import Trace
from powercut.trace.symbols import Symbolizer

_LIBRARY = re.compile(r"lib(pmem2?|pmemobj|pmemlog|pmemblk|pmemset|pmemkv|vmem|pmempool)[-.].*")
_C_LIBRARY = re.compile(r"(libc|libpthread|libm|libdl|librt|ld)[-.].*")
_FOR_ITS_CALLER = re.compile(
    r"pmem_(persist|flush|drain|msync|deep_(persist|flush|drain)|(memcpy|memmove|memset)(_\w+)?)"
    r"|pmemobj_(x?persist|x?flush|drain|(memcpy|memmove|memset)(_\w+)?)"
    r"|pmem2_.*|libpmem2?\.so.*"  # pmem2 gives its caller pointers to functions without names
)
_ENDS_TRANSACTION = re.compile(r"pmemobj_(tx_(commit|process|end)|publish)")
_NATIVE = 1
_PRIVATE, _COMMIT = 1, 2  # enum lint_role of native/engine/lint/lint.h


class StackRoles:
    """What is known of the call stacks of a trace without looking at source lines."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._modules = _module_names(trace)
        self._symbols = Symbolizer()
        self._calls = CallSites()

    def internal(self) -> bytes:
        """For each stack number, from 0 on: 0 if it is the program's own; inside a library of persistent memory 1, or
        2 at the end of a transaction, which makes persistent what the program stored in it.
        """
        found = bytearray(len(self._trace.table(TableKind.STACK)) + 1)
        libraries = {number for number, path in self._modules.items() if _is(_LIBRARY, path)}
        if not libraries:
            return bytes(found)
        entries = {stack: entry for stack in range(1, len(found)) if (entry := self._entry(stack, libraries))}
        names = self._symbols.resolve(set(entries.values()))
        for stack, entry in entries.items():
            function = names[entry][-1].function  # the one that others were inlined into
            entered = {function} | self._called(stack, entry)
            if not any(map(_FOR_ITS_CALLER.fullmatch, entered)):
                found[stack] = _COMMIT if any(map(_ENDS_TRANSACTION.fullmatch, entered)) else _PRIVATE
        return bytes(found)

    def in_c_library(self, stack: int) -> bool:
        """Whether the innermost function is one of the C library, which fences for reasons of its own."""
        frames = self._frames(stack)
        return len(frames) > 0 and _is(_C_LIBRARY, self._modules.get(int(frames["ref"][0]), ""))

    def is_generated(self, stack: int) -> bool:
        """Whether the innermost code is in no file: a runtime has made it, and flushes what else it makes."""
        frames = self._frames(stack)
        return len(frames) > 0 and int(frames["kind"][0]) == _NATIVE and int(frames["ref"][0]) == 0

    def _entry(self, stack: int, libraries: set[int]) -> tuple[str, int] | None:
        """Where the program entered the library that a stack is in: file and address."""
        entry = None
        for kind, ref, address in self._frames(stack).tolist():
            if kind != _NATIVE:
                break
            if ref in libraries:
                entry = (self._modules[ref], address)
            elif not _is(_C_LIBRARY, self._modules.get(ref, "")):
                break
        return entry

    def _called(self, stack: int, entry: tuple[str, int]) -> frozenset[str]:
        """What the frame that entered the library says in its call."""
        frames = [(self._modules.get(ref, ""), address) for _, ref, address in self._frames(stack).tolist()]
        callers = frames[frames.index(entry) + 1 :]
        return self._calls.entered(*callers[0]) if callers and callers[0][0] else frozenset()

    def _frames(self, stack: int) -> npt.NDArray[np.void]:
        data = self._trace.entry(TableKind.STACK, stack) if stack else b""
        return np.frombuffer(data, FRAME, len(data) // FRAME.itemsize)


def _module_names(trace: Trace) -> Mapping[int, str]:
    numbers = range(1, len(trace.table(TableKind.MODULE)) + 1)
    entries = (trace.entry(TableKind.MODULE, number).partition(b"\0")[0] for number in numbers)
    return dict(zip(numbers, (path.decode("utf-8", "surrogateescape") for path in entries), strict=True))


def _is(pattern: re.Pattern[str], path: str) -> bool:
    return pattern.fullmatch(posixpath.basename(path)) is not None
