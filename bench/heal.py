"""Hard faults healed, beside what snapshots and reversion in the order of time would have lost.

    python bench/heal.py            all twelve faults of corpus/hard_faults.py, as two tables
    python bench/heal.py f1 f9      some

Each service runs under guard and load, in five parts; its fault is met in the third one. Then it is healed in several
ways, each from the same sick pool: by `powercut heal` (or `--leaks`), one step at a time, in batches and by rollback;
by the newest whole-pool snapshot that restarts well (taken between the parts while the service stands still: the role
of pmCRIU in the Arthas paper); and by taking back updates one after the other, the newest first (its ArCkpt), for at
most a time. After each way that helps, the service must stand as much load again.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kit import Broken, Row, dearer, workspace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from hard_faults import ENVIRONMENT, FAULTS, HardFault, Service, build

from powercut.guard.history import History
from powercut.guard.log import GuardLog
from powercut.heal.healer import MODES

ROUNDS = 500  # of each client, in all parts together
LIMIT = 20.0  # seconds for reversion in the order of time
BATCH = 5  # steps, as in the paper
MOST_LOST = 3.0  # percent of updates on average


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a way of healing came to.

    Attributes:
        lost: how many updates; None: it did not help.
        percent: the same, of all updates.
        serves: whether the service then stood further load, with right answers, and passed its check.
    """

    by: str
    attempts: int
    seconds: float
    lost: int | None
    percent: float = 0.0
    serves: bool = False

    def __str__(self) -> str:
        if self.lost is None:
            return f"no help, {self.attempts} attempts, {self.seconds:.1f} s"
        after = "" if self.serves else ", then fails"
        return f"{self.lost} lost ({self.percent:.2g} %), {self.attempts} attempts, {self.seconds:.1f} s{after}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One fault, healed in all ways; a leak has no batches and no rollback."""

    fault: HardFault
    updates: int
    healed: Outcome
    snapshots: Outcome
    in_order: Outcome
    batches: Outcome | None = None
    rollback: Outcome | None = None


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

    def restore(self) -> Outcome:
        """Go back to the newest one that restarts well."""
        began, updates = time.monotonic(), _updates(self._service)
        for attempts, (copy, until) in enumerate(reversed(self._taken), 1):
            shutil.copyfile(copy, self._service.pool)
            if self._service.is_well():
                return Outcome("snapshots", attempts, time.monotonic() - began, updates - until)
        return Outcome("snapshots", len(self._taken), time.monotonic() - began, None)


def _updates(service: Service) -> int:
    log = GuardLog(service.log)
    return History(log, log.pools[1]).updates


def revert_in_order(service: Service) -> Outcome:
    """Take back the newest update, the newest two, ..., until the service is well or the time is over."""
    began, session = time.monotonic(), service.session()
    changes = session.history.changes.tolist()
    for count in range(1, len(changes)):
        records = frozenset(changes[-count:])
        if session.attempt(records).healed:
            seconds = time.monotonic() - began
            session.take_back(records)
            return Outcome("time", count, seconds, count)
        if time.monotonic() - began > LIMIT:
            break
    return Outcome("time", count, time.monotonic() - began, None)


def by_heal(service: Service, modes: Sequence[str] = MODES, batch: int = 1) -> Outcome:
    """As `powercut heal --yes` does."""
    healed = service.heal(modes, batch)
    lost = None if healed.way_back is None else healed.discarded
    return Outcome(healed.mode, healed.attempts, healed.seconds, lost)


def break_and_heal(fault: HardFault, programs: Path, folder: Path) -> Entry:
    """Break a service and heal it in all ways."""
    service = Service(fault, programs, folder)
    snapshots = Snapshots(service, folder / "snapshots")
    service.break_down(ROUNDS, snapshots.take)
    if service.is_well():
        raise Broken(f"{fault.name} was not met")
    sick, updates = service.pool.read_bytes(), service.session().history.updates

    def judged(way: Callable[[], Outcome]) -> Outcome:
        service.pool.write_bytes(sick)
        outcome = way()
        if outcome.lost is None:
            return outcome
        return replace(outcome, percent=100 * outcome.lost / updates, serves=service.serves(ROUNDS))

    entry = Entry(
        fault,
        updates,
        judged(lambda: by_heal(service)),
        judged(snapshots.restore),
        judged(lambda: revert_in_order(service)),
    )
    if fault.is_leak:
        return entry
    in_batches = judged(lambda: by_heal(service, batch=BATCH))
    return replace(entry, batches=in_batches, rollback=judged(lambda: by_heal(service, ("rollback",))))


def lines(entries: Sequence[Entry]) -> Iterator[str]:
    """Both tables: beside the baselines (Tables 3 to 5, Figures 8 and 9); ways of healing (Table 6, Figures 10, 11)."""
    yield "| fault | service | consequence | updates | healed by | powercut heal | snapshots | in order of time |"
    yield "|---|---|---|---|---|---|---|---|"
    for entry in entries:
        fault, by = entry.fault, entry.healed.by if entry.healed.serves else "not healed"
        yield (
            f"| {fault.name} {fault.title} | {fault.program} | {fault.consequence} | {entry.updates} | {by} | "
            f"{entry.healed} | {entry.snapshots} | {entry.in_order} |"
        )
    yield _averages(
        [(entry.healed, entry.snapshots, entry.in_order) for entry in entries], before="| average | | | | | "
    )
    ways = [(e.fault, (e.healed, e.batches, e.rollback)) for e in entries if e.batches and e.rollback]
    if ways:
        yield f"\n| fault | one by one | in batches of {BATCH} | rollback |"
        yield "|---|---|---|---|"
        yield from (f"| {fault.name} | " + " | ".join(map(str, outcomes)) + " |" for fault, outcomes in ways)
        yield _averages([outcomes for _, outcomes in ways], before="| average | ")


def _averages(rows: Sequence[Sequence[Outcome]], before: str) -> str:
    return before + " | ".join(_average(column) for column in zip(*rows, strict=True)) + " |"


def _average(outcomes: Sequence[Outcome]) -> str:
    attempts, seconds = (sum(getattr(o, name) for o in outcomes) / len(outcomes) for name in ("attempts", "seconds"))
    serves = sum(outcome.serves for outcome in outcomes)
    lost = _lost_on_average(outcomes)
    return f"{serves} of {len(outcomes)} serve on; {lost:.2g} % lost, {attempts:.1f} attempts, {seconds:.1f} s"


def _lost_on_average(outcomes: Sequence[Outcome]) -> float:
    helped = [outcome.percent for outcome in outcomes if outcome.lost is not None]
    return sum(helped) / max(1, len(helped))


def measure() -> list[Row]:
    """All of them, for `make bench`."""
    entries = list(measured(FAULTS))
    print("\n".join(lines(entries)))
    healed = sum(entry.healed.serves for entry in entries)
    lost = _lost_on_average([entry.healed for entry in entries])
    snapshots = _lost_on_average([entry.snapshots for entry in entries])
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
