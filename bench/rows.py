"""The default rows against ext4 alone: states and CPU seconds to the first finding, and to the end of the search.

    python bench/rows.py                             the corpus, its demo, the small targets of search.py
    python bench/rows.py files demo --budget 60      some, with more seconds for each search

A program is recorded once; both searches have its trace, in processes of their own and turn by turn. CPU seconds are
those of the engine, its workers and all their checks; the least of a few turns counts. A search that its budget ends
has no end: its cell says so. The last line of each target compares the programs whose mistake ext4 shows.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deep import BUG, WORKLOAD
from hunt import Hunted, Known, hunt, search
from kit import Broken, workspace
from known_bugs import TARGETS as SMALL
from known_bugs import Store, build_store

from powercut.model.filesystem import DEFAULT, ONE_ROW
from powercut.trace.reader import Trace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from harness import CORPUS, build, cases, check_command

BUDGET = 30.0  # seconds for each search
TURNS = 3
ROWS = (ONE_ROW.name, DEFAULT)
TO_THE_END = ("files", "demo")  # targets that are small enough to be searched to their end
MUCH_LATER = 1.5  # times the CPU seconds


def files(folder: Path) -> Iterator[Known]:
    """The corpus: the buggy twin of each case."""
    for case in cases():
        (folder / case.name).mkdir()
        data = case.seed(folder / case.name / "data")
        workload = [*build(case.source("buggy"), folder / case.name), str(data)]
        yield Known("files", case.name, data, workload, check_command(case.check))


def demo(folder: Path) -> Iterator[Known]:
    """The two programs that `make demo` shows."""
    for name, suffix in (("settings", "py"), ("kv", "c")):
        data = folder / name / "data"
        data.mkdir(parents=True)
        workload = build(CORPUS / "demo" / f"{name}.{suffix}", folder / name)
        program = ["sh", "-c", 'cd "$0" && exec "$@"', str(data), *workload]
        yield Known("demo", name, data, program, check_command(CORPUS / "demo" / f"{name}_check.py"))


def deep(folder: Path) -> Iterator[Known]:
    """The long run of deep.py."""
    data = folder / "data"
    data.mkdir()
    store = Store(build_store(folder), BUG)
    yield Known("deep", BUG, data, store.workload(data, WORKLOAD), store.check)


TARGETS: dict[str, Callable[[Path], Iterator[Known]]] = {"files": files, "demo": demo, **SMALL, "deep": deep}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a search took."""

    hunted: Hunted
    cpu: float

    def cell(self) -> str:
        """As text."""
        text = f"{self.hunted.states} states, {self.cpu:.2f} s"
        return text if self.hunted.ended else f"no end: {text}"


@dataclass(frozen=True, slots=True)
class Line:
    """One program: the costs on each row, of the first finding and of the whole search."""

    known: Known
    first: Mapping[str, Cost]
    whole: Mapping[str, Cost]

    @property
    def ratio(self) -> float | None:
        """How much later the first finding comes; None where only one of the searches has one."""
        one, other = (self.first[row] for row in ROWS)
        return other.cpu / one.cpu if one.hunted.found and other.hunted.found else None

    def cells(self) -> list[str]:
        """As text."""
        found = [cost.cell() if cost.hunted.found else "nothing" for cost in self.first.values()]
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return [self.known.target, self.known.bug, *found, ratio, *(cost.cell() for cost in self.whole.values())]


def cost_of(work: Callable[[], Hunted]) -> Cost:
    """Do some work in a process of its own; what it used there, with all that it started."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reader)
            before = _used()
            hunted = work()
            os.write(writer, pickle.dumps(Cost(hunted, _used() - before)))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    if os.waitpid(child, 0)[1] or not content:
        raise Broken("a search failed")
    cost = pickle.loads(content)
    assert isinstance(cost, Cost)
    return cost


def _used() -> float:
    """CPU seconds of this process and of those it waited for."""
    some = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in some)


def compare(known: Known, trace: Trace, budget: float, turns: int) -> Line:
    """Search a trace on all rows, until something is found, and to the end where that is near."""
    first = _least(known, turns, lambda some: hunt(some, trace, {}, budget))
    near = known.target in TO_THE_END
    return Line(known, first, _least(known, turns, lambda some: search(some, trace, {}, budget)) if near else {})


def _least(known: Known, turns: int, work: Callable[[Known], Hunted]) -> dict[str, Cost]:
    costs: dict[str, list[Cost]] = {row: [] for row in ROWS}
    for _ in range(turns):
        for row, some in costs.items():
            on_row = replace(known, settings={**known.settings, "fs": row})
            some.append(cost_of(lambda on_row=on_row: work(on_row)))
    return {row: min(some, key=lambda cost: cost.cpu) for row, some in costs.items()}


def as_text(lines: Sequence[Line]) -> str:
    """The table in Markdown."""
    title = [f"first finding, {row}" for row in ROWS], [f"end, {row}" for row in ROWS]
    head = ["target", "program", *title[0], "times", *title[1]]
    table = [head, ["---"] * len(head), *(line.cells() + [""] * (len(head) - len(line.cells())) for line in lines)]
    for target in dict.fromkeys(line.known.target for line in lines):
        ratios = [line.ratio for line in lines if line.known.target == target and line.ratio is not None]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
        table.append([target, "geometric mean", "", "", f"{mean:.2f}", "", ""])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status is 1 if a first finding comes much later."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS", help="for each search")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help="of which the least counts")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are: {', '.join(TARGETS)}")
    lines: list[Line] = []
    with workspace() as space:
        for name in options.targets or TARGETS:
            (space / name).mkdir()
            for known in TARGETS[name](space / name):
                lines.append(compare(known, known.record(), options.budget, options.turns))
                print("\t".join(lines[-1].cells()), file=sys.stderr)
    print(as_text(lines), end="")
    return 1 if any(line.ratio is not None and line.ratio > MUCH_LATER for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
