"""Hard faults healed, beside what snapshots and reversion in the order of time would have lost.

    python bench/heal.py            all twelve faults of corpus/hard_faults.py, as a table
    python bench/heal.py f1 f9      some

Each service runs under guard and load, in five parts; its fault is met in the third one. Then it is healed in three
ways, each from the same sick pool: by `powercut heal` (or `--leaks`), by the newest whole-pool snapshot that restarts
well (taken between the parts while the service stands still: the role of pmCRIU in the Arthas paper), and by taking
back updates one after the other, the newest first (its ArCkpt), for at most a time.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kit import Broken, Row, dearer, workspace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from hard_faults import ENVIRONMENT, FAULTS, HardFault, Healed, Service, build

from powercut.guard.log import CHANGES, GuardLog

ROUNDS = 500  # of each client, in all parts together
LIMIT = 20.0  # seconds for reversion in the order of time
MOST_LOST = 3.0  # percent of updates on average


@dataclass(frozen=True, slots=True)
class Loss:
    """What a way of healing cost; `percent` of updates, None: it did not help."""

    attempts: int
    seconds: float
    percent: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table."""

    fault: HardFault
    healed: Healed
    serves: bool
    snapshots: Loss
    in_order: Loss

    @property
    def percent(self) -> float:
        """Of updates that `powercut heal` discards."""
        return 100 * self.healed.discarded / self.healed.updates


class Snapshots:
    """Copies of a pool, each with the number of updates until then."""

    def __init__(self, service: Service, folder: Path) -> None:
        self._service, self._folder = service, folder
        self._taken: list[tuple[Path, int]] = []
        folder.mkdir()

    def take(self, process: int) -> None:
        """While the service stands still."""
        os.kill(process, signal.SIGSTOP)
        try:
            copy = self._folder / str(len(self._taken))
            shutil.copyfile(self._service.pool, copy)
            self._taken.append((copy, _updates(self._service)))
        finally:
            os.kill(process, signal.SIGCONT)

    def restore(self) -> Loss:
        """Go back to the newest one that restarts well."""
        began, sick = time.monotonic(), self._service.pool.read_bytes()
        try:
            attempts, until = self._newest_that_is_well()
        finally:
            self._service.pool.write_bytes(sick)
        percent = None if until is None else 100 * (1 - until / _updates(self._service))
        return Loss(attempts, time.monotonic() - began, percent)

    def _newest_that_is_well(self) -> tuple[int, int | None]:
        """How many were tried, and the updates that the good one has."""
        for attempts, (copy, until) in enumerate(reversed(self._taken), 1):
            shutil.copyfile(copy, self._service.pool)
            if self._service.is_well():
                return attempts, until
        return len(self._taken), None


def _updates(service: Service) -> int:
    return len(GuardLog(service.log).of_kind(*CHANGES))


def revert_in_order(service: Service) -> Loss:
    """Take back the newest update, the newest two, ..., until the service is well or the time is over."""
    began, session = time.monotonic(), service.session()
    changes = session.history.changes.tolist()
    for count in range(1, len(changes)):
        if session.attempt(frozenset(changes[-count:])).healed:
            return Loss(count, time.monotonic() - began, 100 * count / len(changes))
        if time.monotonic() - began > LIMIT:
            break
    return Loss(count, time.monotonic() - began, None)


def break_and_heal(fault: HardFault, programs: Path, folder: Path) -> Entry:
    """Break a service and heal it in all three ways."""
    service = Service(fault, programs, folder)
    snapshots = Snapshots(service, folder / "snapshots")
    service.break_down(ROUNDS, snapshots.take)
    if service.is_well():
        raise Broken(f"{fault.name} was not met")
    restored, in_order = snapshots.restore(), revert_in_order(service)
    healed = service.heal()
    return Entry(fault, healed, healed.way_back is not None and service.serves(ROUNDS), restored, in_order)


def lines(entries: Sequence[Entry]) -> Iterator[str]:
    """The table."""
    yield "| fault | service | consequence | healed by | attempts, s | discarded | snapshots | in order of time |"
    yield "|---|---|---|---|---|---|---|---|"
    for entry in entries:
        fault, healed = entry.fault, entry.healed
        well = healed.mode if entry.serves else "not healed"
        yield (
            f"| {fault.name} {fault.title} | {fault.program} | {fault.consequence} | {well} | {healed.attempts}, "
            f"{healed.seconds:.1f} | {healed.discarded} of {healed.updates} ({entry.percent:.2f} %) | "
            f"{_told(entry.snapshots)} | {_told(entry.in_order)} |"
        )


def _told(loss: Loss) -> str:
    lost = "no help" if loss.percent is None else f"{loss.percent:.2g} % lost"
    return f"{lost}, {loss.attempts} attempts, {loss.seconds:.1f} s"


def measure() -> list[Row]:
    """All of them, for `make bench`."""
    entries = list(measured(FAULTS))
    print("\n".join(lines(entries)))
    healed = sum(entry.serves for entry in entries)
    lost = sum(entry.percent for entry in entries) / len(entries)
    restored = [entry.snapshots.percent for entry in entries if entry.snapshots.percent is not None]
    snapshots = sum(restored) / max(1, len(restored))
    return [
        Row("hard faults healed", healed, "faults", "all", len(entries), None, "all", healed == len(entries)),
        Row("discarded by heal", lost, "%", "limit", MOST_LOST, None, f"<= {MOST_LOST:g} %", lost <= MOST_LOST),
        dearer("discarded by heal", lost, "%", "snapshots", snapshots, times=0.1),
    ]


def measured(faults: Sequence[HardFault]) -> Iterator[Entry]:
    """Entries, one after the other."""
    os.environ.update(ENVIRONMENT)
    with workspace() as folder:
        programs = folder / "programs"
        programs.mkdir()
        build(programs)
        for fault in faults:
            yield break_and_heal(fault, programs, folder / fault.name)


if __name__ == "__main__":
    chosen = [fault for fault in FAULTS if fault.name in (sys.argv[1:] or [other.name for other in FAULTS])]
    print("\n".join(lines(list(measured(chosen)))))
