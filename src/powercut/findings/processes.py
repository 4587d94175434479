"""Which command line a process of the recorded program ran: all that can be said of a call whose lines nobody knows.

Before: a trace. After: for each event the command line of its process at that time, its own or that of who forked it;
empty where the trace has none (those of older versions, and of the memory tracer).
"""

from __future__ import annotations

import bisect
import shlex
from collections import defaultdict
from pathlib import PurePath
from typing import NamedTuple

from powercut.trace.layout import Flag, Kind
from powercut.trace.reader import Trace

_LONGEST = 100  # characters that are shown
_SCRIPT = ("-c", "-e", "--eval", "-")  # what follows is the script itself, or its arguments
_VALUED = ("-cp", "-classpath", "--class-path", "-p", "--module-path", "-r", "--require", "--import", "--loader", "-I")


class _Ran(NamedTuple):
    program: str
    words: tuple[str, ...]


_UNKNOWN = _Ran("", ())


class Processes:
    """The command lines of one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[int, tuple[list[int], list[_Ran]]] | None = None

    def command(self, event: int) -> str:
        """What ran when an event was made."""
        words = " ".join(shlex.join(self._ran(event).words).split())  # scripts after -c have lines
        return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."

    def program(self, event: int) -> str:
        """The file that was executed."""
        return self._ran(event).program

    def script(self, event: int) -> str:
        """The program and what it runs or works on, without folders and options: "php save.php".

        Of a script that is an option itself (`sh -c`, `perl -e`) nothing is told: its first word says nothing.
        """
        program, *others = self._ran(event).words or ("",)
        found = [PurePath(program).name]
        while others and others[0] not in _SCRIPT:
            word = others.pop(0)
            if not word.startswith("-"):
                found.append(PurePath(word).name)
                break
            if word in _VALUED:
                others = others[1:]
        return " ".join(found)

    def _ran(self, event: int) -> _Ran:
        if self._known is None:
            self._known = self._read()
        since, ran = self._known.get(int(self._trace.events[event]["pid"]), ([], []))
        at = bisect.bisect_right(since, event) - 1
        return ran[at] if at >= 0 else _UNKNOWN

    def _read(self) -> dict[int, tuple[list[int], list[_Ran]]]:
        known: defaultdict[int, tuple[list[int], list[_Ran]]] = defaultdict(lambda: ([], []))
        for number in self._trace.of_kind(Kind.EXEC, Kind.FORK).tolist():
            record = self._trace.events[number]
            process, ran = int(record["pid"]), _UNKNOWN
            if record["kind"] == Kind.EXEC:
                path = self._trace.string(int(record["path"])).decode("utf-8", "replace")
                ran = _Ran(path, _words(self._trace.blob(int(record["data"]), int(record["length"]))))
            elif not int(record["flags"]) & Flag.THREAD:
                ran, process = next(iter(known[process][1][-1:]), _UNKNOWN), int(record["extra"])
            else:
                continue
            known[process][0].append(number)
            known[process][1].append(ran)
        return dict(known)


def _words(line: bytes) -> tuple[str, ...]:
    return tuple(line.decode("utf-8", "replace").removesuffix("\0").split("\0")) if line else ()
