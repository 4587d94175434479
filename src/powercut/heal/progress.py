"""Whether processes do anything but go round in a loop: so a restart that hangs is recognised before its time is over.

Before: processes run. After each look: how much processor time they have taken since they last did something that can
be seen from outside: a system call that waited, a page touched for the first time, a process started or ended. A loop
that never ends takes time and does none of that. So does a long computation, hence the first hang of a service is
awaited, and what it shows is the measure for the others (`Spin`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from powercut.programs import descendants
from powercut.quick_dataclass import dataclass

LOOK = 0.2  # seconds between two looks
LEAST = 1.0  # seconds of processor time: a computation may take that
_TIMES = 3  # as long as the service ever computed without a sign before it hung
_TICKS = os.sysconf("SC_CLK_TCK")
_FAULTS, _TIME = (9, 11), (13, 14)  # fields of /proc/PID/stat, counted from 0


@dataclass(frozen=True, slots=True)
class Spin:
    """What a restart showed that hung until its time was over.

    Attributes:
        quiet: seconds of processor time in which it did nothing else, at the end.
        before: the longest such time before that.
    """

    quiet: float
    before: float

    @property
    def is_one(self) -> bool:
        """Whether it was a loop, and did not wait for something."""
        return self.quiet >= self.enough

    @property
    def enough(self) -> float:
        """After so much processor time without a sign, another one hangs as this one did."""
        return max(LEAST, _TIMES * self.before)


class Progress:
    """Looks at a process and all that it started."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._signs: object = None
        self._taken = self._since = self._longest = 0.0

    def look(self) -> Spin:
        """What can be seen now, since the last time that something changed."""
        taken, signs = 0.0, []
        for pid in descendants(self._pid):
            with suppress(OSError, ValueError, IndexError):
                fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
                numbers = [int(fields[field - 2]) for field in (*_FAULTS, *_TIME)]
                signs.append((pid, *numbers[: len(_FAULTS)], *_waits(pid)))
                taken += sum(numbers[len(_FAULTS) :]) / _TICKS
        if sorted(signs) != self._signs:
            self._longest = max(self._longest, self._taken - self._since)
            self._signs, self._since = sorted(signs), taken
        self._taken = taken
        return Spin(taken - self._since, self._longest)


def _waits(pid: int) -> list[int]:
    """How often each thread of a process has waited."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for line in (thread / "status").read_text(errors="replace").splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                found.append(int(line.split()[1]))
    return found
