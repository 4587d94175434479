"""Which runtimes of a recording were followed, and which were not, though they should have been.

Before: a trace, recorded with agents in the environment. After: a sentence for each kind of runtime whose processes
changed something while nobody told its lines; such a recording is good, its findings name scripts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import numpy as np

from powercut.runtimes.known import RUNTIMES
from powercut.trace.layout import Kind, TableKind
from powercut.trace.reader import Trace

_CHANGES = (int(Kind.CREATE), int(Kind.OUTPUT))  # from the first to the last kind of what a program does
_PYTHON = re.compile(r"(?:lib)?python(\d+)\.(\d+)[a-z]*(?:\.so.*)?")
_READ = ((3, 11), (3, 14))  # the versions whose stacks the tracer reads (native/ptrace/stacks/python/offsets.c)
_INSTEAD = "so findings name the script instead of lines"


def not_followed(trace: Trace) -> Iterator[str]:
    """What is missing, once for each runtime."""
    known = {int(key.partition(".")[2]) for key in trace.meta if key.startswith("runtime.")}
    changing = _changing(trace)
    for runtime in RUNTIMES:
        if runtime.programs is None:
            continue
        for event in trace.events[trace.of_kind(Kind.EXEC)]:
            process = int(event["pid"])
            program = posixpath.basename(trace.string(int(event["path"])).decode("utf-8", "replace"))
            if process in changing and process not in known and runtime.programs.fullmatch(program):
                yield f"{runtime.title} (process {process}) did not load powercut's agent, {_INSTEAD}"
                break
    for version in sorted(_unread_pythons(trace)):
        first, last = (".".join(map(str, some)) for some in _READ)
        yield f"call stacks of Python {version} are not read (those of CPython {first} to {last} are), {_INSTEAD}"


def _unread_pythons(trace: Trace) -> set[str]:
    """Versions of interpreters on the stacks of whatever was changed."""
    modules = (trace.entry(TableKind.MODULE, number + 1) for number in range(len(trace.table(TableKind.MODULE))))
    names = (module.partition(b"\0")[0].decode("utf-8", "replace") for module in modules)
    found = (_PYTHON.fullmatch(posixpath.basename(name)) for name in names)
    versions = {(int(match[1]), int(match[2])) for match in found if match}
    return {".".join(map(str, version)) for version in versions if not _READ[0] <= version <= _READ[1]}


def _changing(trace: Trace) -> set[int]:
    events = trace.events
    kinds = events["kind"]
    return set(np.unique(events["pid"][(kinds >= _CHANGES[0]) & (kinds <= _CHANGES[1])]).tolist())
