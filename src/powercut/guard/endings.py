"""How a guarded service ended, and whether it ended in the same way before.

A fault that comes back after a restart, in the same place, with the same code and much the same calls before it, is
suspected to be hard: what is wrong lies in the pool, and no restart will put it right.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from powercut.errors import UsageError
from powercut.guard.log import GuardLog, RecordKind
from powercut.guard.signals import TOLD
from powercut.quick_dataclass import dataclass
from powercut.trace.symbols import Symbolizer

ENDINGS = "endings.jsonl"
OF_A_SHELL = 128  # added to a signal's number it is the exit status with which a shell tells of it
_MUCH = 0.5  # of the calls that two faults have in common
_SYSTEM = ("/lib", "/usr/lib")  # libraries in which a service only ends, as in abort


@dataclass(frozen=True, slots=True)
class Ending:
    """One end of a service.

    Attributes:
        how: "exit", "told" (it was told to end, and did), "signal", "hang" or "check".
        code: the exit status or the signal's number.
        calls: where it was, innermost first: module and offset, which stay the same from run to run.
    """

    how: str
    code: int
    calls: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether it ended by itself and well, or was told to end."""
        if self.how == "signal":
            return self.code in TOLD
        return self.how == "told" or (self.how, self.code) == ("exit", 0)

    @property
    def is_from_outside(self) -> bool:
        """Whether somebody else ended it, as an operator does, or the kernel when memory is short: no fault of a pool.

        No program is killed so by what it does with its own memory.
        """
        return (self.how, self.code) == ("signal", signal.SIGKILL)

    def resembles(self, other: Ending) -> bool:
        """Whether this is loosely the same fault: how, code and place agree, and half of the calls do."""
        if self.is_from_outside:
            return False
        if (self.how, self.code, self.calls[:1]) != (other.how, other.code, other.calls[:1]):
            return False
        shared = len(set(self.calls) & set(other.calls))
        return shared >= _MUCH * max(len(set(self.calls)), len(set(other.calls)))

    def is_seen_as(self, how: str, code: int) -> bool:
        """Whether a run that "exited" or was "signaled" can show this fault; a shell tells a signal by its status."""
        if self.how == "signal":
            return code == self.code if how == "signaled" else code == OF_A_SHELL + self.code
        return how == "exited" and code == self.code

    def __str__(self) -> str:
        if self.how == "signal":
            name = signal.strsignal(self.code) or str(self.code)
            where = f" in {self.calls[0]}" if self.calls else ""
            by = " from outside: by somebody, or by the kernel for want of memory" if self.is_from_outside else ""
            return f"was killed by signal {self.code} ({name}){where}{by}"
        if self.how == "exit":
            return f"exited with status {self.code}"
        return "no longer answers" if self.how == "hang" else "no longer passes its check"


def read_fault(folder: Path) -> tuple[int, tuple[int, ...]]:
    """The note of a deadly signal: its number and the addresses of the calls; (0, ()) if there is none."""
    try:
        lines = (folder / "fault").read_text(errors="replace").splitlines()
        words = [line.split() for line in lines]
        number = next((int(word[1]) for word in words if word[0] == "signal"), 0)
        return number, tuple(int(word[1], 16) for word in words if word[0] == "frame")
    except (OSError, ValueError, IndexError):
        return 0, ()


def place_calls(log: GuardLog, addresses: Sequence[int], before: int | None = None) -> tuple[str, ...]:
    """Addresses of the last run, or of that in which a record (an index) was written, as modules and offsets."""
    starts = log.of_kind(RecordKind.START).tolist()
    since = max((start for start in starts if before is None or start <= before), default=0)
    until = min((start for start in starts if start > since), default=len(log))
    modules = [i for i in log.of_kind(RecordKind.MODULE).tolist() if since < i < until]
    loaded = sorted((int(log.records["offset"][i]), log.data(i).decode("utf-8", "replace")) for i in modules)
    placed = []
    for address in addresses:
        below = [(base, path) for base, path in loaded if base <= address]
        base, path = below[-1] if below else (0, "?")
        placed.append(f"{path}+{address - base:#x}")
    return tuple(placed)


def source_of(calls: Sequence[str]) -> str:
    """The innermost of the calls that has a line of source, as people read it; empty if none has."""
    symbols = Symbolizer()
    for depth, call in enumerate(calls):
        path, _, offset = call.rpartition("+")
        back = 1 if depth else 0  # callers stand after their call
        frames = symbols.resolve([(path, int(offset, 16) - back)])
        frame = next(iter(frames.values()))[0]
        if frame.line and not path.startswith(_SYSTEM):
            return str(frame)
    return ""


def remember(folder: Path, ending: Ending) -> None:
    """Add an ending to those of the log."""
    with (folder / ENDINGS).open("a") as file:
        file.write(json.dumps(asdict(ending)) + "\n")


def remembered(folder: Path) -> list[Ending]:
    """All endings of the log, oldest first."""
    path = folder / ENDINGS
    try:
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [Ending(str(one["how"]), int(one["code"]), tuple(map(str, one["calls"]))) for one in found]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError("broken-guard-log", f"cannot read {path}: {error}.", "Nothing was changed.") from error
