"""Which command line a process of the recorded program ran: all that can be said of a call whose lines nobody knows.

Before: a trace. After: for each event the command line of its process at that time, its own or that of who forked it;
empty where the trace has none (those of older versions, and of the memory tracer).
"""

from __future__ import annotations

import bisect
import shlex
from collections import defaultdict
from pathlib import PurePath

from powercut.trace.layout import Flag, Kind
from powercut.trace.reader import Trace

_LONGEST = 100  # characters that are shown


class Processes:
    """The command lines of one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[int, tuple[list[int], list[str]]] | None = None

    def command(self, event: int) -> str:
        """What ran when an event was made."""
        if self._known is None:
            self._known = self._read()
        since, commands = self._known.get(int(self._trace.events[event]["pid"]), ([], []))
        at = bisect.bisect_right(since, event) - 1
        return commands[at] if at >= 0 else ""

    def script(self, event: int) -> str:
        """The same without folders and arguments: the program and what it runs, "php save.php"."""
        words = [word for word in self.command(event).split() if not word.startswith("-")]
        return " ".join(PurePath(word.strip("'")).name for word in words[:2])

    def _read(self) -> dict[int, tuple[list[int], list[str]]]:
        known: defaultdict[int, tuple[list[int], list[str]]] = defaultdict(lambda: ([], []))
        for number in self._trace.of_kind(Kind.EXEC, Kind.FORK).tolist():
            record = self._trace.events[number]
            process, command = int(record["pid"]), ""
            if record["kind"] == Kind.EXEC:
                command = _words(self._trace.blob(int(record["data"]), int(record["length"])))
            elif not int(record["flags"]) & Flag.THREAD:
                command, process = next(iter(known[process][1][-1:]), ""), int(record["extra"])
            else:
                continue
            known[process][0].append(number)
            known[process][1].append(command)
        return dict(known)


def _words(line: bytes) -> str:
    words = shlex.join(line.decode("utf-8", "replace").removesuffix("\0").split("\0")) if line else ""
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 3]}..."
