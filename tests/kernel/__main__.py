"""make test-kernel: what real file systems leave after power cuts, against powercut's models.

Random workloads (from --seed on) and directed questions run on freshly made file systems of this machine; every state
that a cut leaves must be possible in its row. Exit status: 0 all were, 1 one was not, 2 wrong usage, 3 this machine
lacks something (one line says what), 130 interrupted.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from powercut.model.filesystem import FILE_SYSTEMS, file_systems
from tests.kernel import ledger
from tests.kernel.ask import WAYS, ask
from tests.kernel.disks import KINDS, Bench, Missing, build_recorder, enter_namespace, leave, missing, mount
from tests.kernel.notation import state_text
from tests.kernel.performer import populate
from tests.kernel.questions import QUESTIONS
from tests.kernel.rig import Examined, Plan, examine
from tests.kernel.shrink import shrink
from tests.kernel.workloads import random_plan

_PR_SET_PDEATHSIG = 1
_BATCH = 5  # workloads of one task
_TELL_EVERY = 100  # workloads
_SEEN = 12  # workloads of each file system that the ledger keeps
_FEW = 14  # states of one of them
Task = tuple[str, str, Any]  # what to do, row, seeds or the name of a question


def main() -> int:
    options = _options()
    if options.take:
        ledger.take(Path(options.take))
        return 0
    lacking = missing(options.rows)
    if lacking is not None:
        print(
            f"test-kernel: {lacking}. Nothing was recorded; make test replays the ledger without it.", file=sys.stderr
        )
        return 3
    signal.signal(signal.SIGTERM, _interrupt)
    folder = Path(tempfile.mkdtemp(prefix="powercut-kernel-"))
    try:
        enter_namespace()
        mount("tmpfs", folder, "tmpfs", "mode=700")  # goes with the namespace, and all that is in it
        return _Run(options, folder, build_recorder(folder)).run()
    except Missing as lack:
        print(f"test-kernel: {lack}.", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    finally:
        leave(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-kernel", description=__doc__)
    parser.add_argument(
        "--rows", default="ext4-ordered,ext4-journal,xfs,btrfs", help="file systems, with commas, or all"
    )
    parser.add_argument("--workloads", type=int, default=100, help="random ones on each file system (default 100)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start nothing new after so long")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first seed (default: by the clock)")
    parser.add_argument("--sectors", action="store_true", help="tear writes into sectors, and ask the rows of --tear")
    parser.add_argument("--questions", default="", help="ask directed questions: names with commas, or all")
    parser.add_argument("--write", action="store_true", help="put what was seen into the ledger")
    parser.add_argument("--save", metavar="FILE", help="or into a file, for --take")
    parser.add_argument("--take", metavar="FILE", help="record nothing: put what --save wrote into the ledger")
    parser.add_argument("--ways", type=int, default=len(WAYS), help="in how many ways each question is asked")
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1), help="at once; most of it is waiting")
    options = parser.parse_args()
    options.rows = list(KINDS) if options.rows == "all" else options.rows.split(",")
    names = options.questions.split(",") if options.questions else []
    options.questions = list(QUESTIONS) if names == ["all"] else names
    for name, known in [*((row, KINDS) for row in options.rows), *((q, QUESTIONS) for q in options.questions)]:
        if name not in known:
            parser.error(f"there is no {name!r}; there are {', '.join(known)}")
    return options


class _Run:
    """One run: tasks are handed to workers, and what they find is told."""

    def __init__(self, options: argparse.Namespace, folder: Path, recorder: Path) -> None:
        self._options = options
        self._folder = folder
        self._recorder = recorder
        self._totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
        self._answers: list[ledger.Answer] = []
        self._seen: dict[str, list[ledger.Seen]] = defaultdict(list)
        self._failures = 0

    def run(self) -> int:
        context = get_context("fork")
        tasks, results = context.SimpleQueue(), context.SimpleQueue()
        workers = [
            context.Process(target=_work, args=(number, self._folder, self._recorder, self._options, tasks, results))
            for number in range(self._options.jobs)
        ]
        started, waiting = time.monotonic(), self._tasks()
        print(f"kernel {os.uname().release}, seeds from {self._options.seed}", flush=True)
        try:
            for worker in workers:
                worker.start()
            busy = sum(self._hand_out(waiting, tasks, started) for _ in workers)
            while busy:
                result = results.get()
                if result[0] == "done":
                    busy += self._hand_out(waiting, tasks, started) - 1
                else:
                    self._take(result)
        finally:
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.join()
        self._report(time.monotonic() - started)
        return 1 if self._failures else 0

    def _tasks(self) -> list[Task]:
        first, count = self._options.seed, self._options.workloads
        batches = [range(s, min(s + _BATCH, first + count)) for s in range(first, first + count, _BATCH)]
        found: list[Task] = [("random", row, batch) for batch in batches for row in self._options.rows]
        found += [("ask", row, name) for row in self._options.rows for name in self._options.questions]
        return found[::-1]

    def _hand_out(self, waiting: list[Task], tasks: Any, started: float) -> int:
        if not waiting or time.monotonic() - started > self._options.seconds:
            return 0
        tasks.put(waiting.pop())
        return 1

    def _take(self, result: tuple[str, str, Any]) -> None:
        kind, row, found = result
        if kind == "failed":
            self._failures += 1
            print(f"{row}: {found}", flush=True)
        elif kind == "answer":
            self._answers.append(found)
            shown = f"shown by {found.shown} of {found.images} images"
            print(f"{row}: {found.question}: {shown}", flush=True)
        else:
            totals, (plan, examined) = self._totals[row], found
            numbers = (1, examined.images, examined.pairs, examined.undecided, bool(examined.outsiders))
            totals[:] = [a + b for a, b in zip(totals, numbers, strict=True)]
            if totals[0] % _TELL_EVERY == 0:
                print(f"{row}: {totals[0]} workloads so far, {totals[4]} with a state that the row forbids", flush=True)
            if examined.outsiders:
                self._failures += 1
                _tell(row, plan, examined)
            self._keep(row, plan, examined)

    def _keep(self, row: str, plan: Plan, examined: Examined) -> None:
        wanted = self._options.write or self._options.save
        if wanted and not examined.outsiders and 4 <= len(examined.seen) <= _FEW and len(self._seen[row]) < _SEEN:
            left = [(line, returned, ledger.difference(image)) for line, returned, image in examined.seen]
            self._seen[row].append(ledger.Seen(ledger.kernel(), row, list(plan.lines), left))

    def _report(self, seconds: float) -> None:
        for row, (workloads, images, pairs, undecided, wrong) in sorted(self._totals.items()):
            print(
                f"{row}: {workloads} workloads, {images} images, {pairs} distinct states at their moments, "
                f"{undecided} undecided, {wrong} workloads with a state that the row forbids"
            )
        print(f"{seconds:.0f} s")
        seen = [entry for entries in self._seen.values() for entry in entries]
        runs = [
            ledger.Run(ledger.kernel(), row, self._options.seed, *totals)
            for row, totals in self._totals.items()
            if not self._options.sectors
        ]
        if self._options.write:
            ledger.add(self._answers, seen, runs)
        if self._options.save:
            ledger.save(Path(self._options.save), self._answers, seen, runs)


def _tell(row: str, plan: Plan, examined: Examined) -> None:
    """A workload that left what must not be."""
    outsider = examined.outsiders[0]
    how = [word for word, said in (("files held open", plan.hold), ("a slow disk", plan.slow)) if said]
    print(f"{row}: a state that the row forbids, with {' and '.join(how) or 'files closed after each call'}:")
    for number, line in enumerate(plan.lines):
        print(f"    {number}  {line}")
    print(f"  {'after' if outsider.returned else 'in'} line {outsider.line}:")
    for path, text in state_text(outsider.image).items():
        print(f"    {path}: {text}")
    sys.stdout.flush()


def _work(number: int, folder: Path, recorder: Path, options: argparse.Namespace, tasks: Any, results: Any) -> None:
    """A worker: it has file systems of its own, in a namespace of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    enter_namespace()
    benches: dict[str, Bench] = {}
    while True:
        kind, row, what = tasks.get()
        try:
            if row not in benches:
                benches[row] = Bench(KINDS[row], recorder, folder / f"{row}-{number}", populate)
            if kind == "ask":
                results.put(("answer", row, ask(benches[row], row, QUESTIONS[what], options.ways)))
            else:
                _try_seeds(benches[row], row, what, options.sectors, results)
        except Exception as error:
            results.put(("failed", row, f"{what}: {type(error).__name__}: {error}"))
        results.put(("done", row, None))


def _try_seeds(bench: Bench, row: str, seeds: range, sectors: bool, results: Any) -> None:
    model = file_systems(row, "page-cache")[0] if row in FILE_SYSTEMS else FILE_SYSTEMS["posix"]
    model = model.torn() if sectors else model
    for seed in seeds:
        plan = random_plan(seed)
        examined = examine(bench, plan, model, sectors=sectors)
        if examined.outsiders and not sectors:
            plan, examined = shrink(bench, plan, model, examined)
        results.put(("random", row, (plan, examined)))


if __name__ == "__main__":
    sys.exit(main())
