"""The order of the search: how many states are judged until each known bug shows, and checks run until it is found.

    python bench/order.py                      all targets, as two tables
    python bench/order.py store hashmap-tx     some

No order is timed here but in seconds of judging, which follow from the states: what counts is which states come when. A
bug *shows* with the first failing state that has to do with it. It is *found* with the first finding whose smallest
state does; until then checks are run for states and to explain those that failed. In the seeded maps every line whose
flush, fence or log entry is needed is left out at once (seeded.py). All other targets have one bug for each program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from explained import checks_until_found
from hunt import Known
from judge import Judge, Place
from kit import Row, cheaper, workspace
from known_bugs import TARGETS as SMALL
from orders import ORDERS
from rows import files
from seeded import MAPS, Several, build_seeded

from powercut.errors import PowercutError
from powercut.states.state import State

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from memory_cases import memory_cases

MOST = 400  # states of one order
AT_ONCE = 16  # states that are judged together
Shows = Callable[[Place, str], bool]


def memory(folder: Path) -> Iterator[Known]:
    """The buggy twins of corpus/memory."""
    for case in memory_cases():
        (folder / case.name).mkdir()
        built = case.build("buggy", folder / case.name)
        settings = {"fs": case.fs[0]} if case.fs else {}
        yield Known("memory", case.name, built.data, built.workload, built.check, settings)


PROGRAMS = {"files": files, "memory": memory, **SMALL}
TARGETS = (*PROGRAMS, *MAPS)


@dataclass(frozen=True, slots=True)
class Shown:
    """After how many states of an order, and seconds of judging, the bugs of a target showed; the soonest first."""

    target: str
    order: str
    bugs: int
    at: Sequence[tuple[int, float]]

    def cells(self) -> list[str]:
        """As text."""
        places = [1, (self.bugs + 1) // 2, self.bugs]
        when = [f"{self.at[k - 1][0]}, {self.at[k - 1][1]:.1f} s" if k <= len(self.at) else "none" for k in places]
        return [self.target, self.order, f"{len(self.at)} of {self.bugs}", *when, str(sum(at for at, _ in self.at))]


def shown(
    states: Iterable[tuple[int, str, State]], judge: Judge, bugs: Sequence[str], shows: Shows
) -> list[tuple[int, float]]:
    """When each bug showed, in states that were judged and in seconds."""
    missing, when = list(bugs), list[tuple[int, float]]()
    places, tested, seconds = distinct(states, judge), 0, 0.0
    while missing and tested < MOST and (some := list(islice(places, AT_ONCE))):
        for place, accepted in zip(some, judge.accepts(some), strict=True):
            tested, seconds = tested + 1, seconds + judge.seconds[judge.key(*place)]
            for bug in [bug for bug in missing if not accepted and shows(place, bug)]:
                when.append((tested, seconds))
                missing.remove(bug)
    return when


def distinct(states: Iterable[tuple[int, str, State]], judge: Judge) -> Iterator[Place]:
    """What a search judges of some states: each image once, with the words that its crash point owes."""
    seen, tested = set[tuple[int, int, int]](), set[object]()
    for number, _, state in states:
        timeline = judge.timelines[number]
        identity = number, *timeline.identity(state)
        if identity in seen:
            continue
        seen.add(identity)
        most = timeline.with_latest_output(state)
        for each in (state, most) if most is not state else (state,):
            key = judge.key(number, each)
            if key not in tested:
                tested.add(key)
                yield number, each


def single(name: str, folder: Path) -> list[Shown]:
    """A target of which every program has one bug: what all of them took, one after the other."""
    at: dict[str, list[tuple[int, float]]] = {order: [] for order in ORDERS}
    programs = 0
    for known in PROGRAMS[name](folder):
        with suppress(PowercutError):  # what this machine cannot record
            judge = Judge(known, known.record())
            programs += 1
            for order, states in ORDERS.items():
                at[order] += shown(states(judge.searched), judge, [known.bug], lambda place, bug: True)
            judge.close()
    return [Shown(name, order, programs, sorted(found)) for order, found in at.items()]


def several(name: str, folder: Path) -> tuple[list[Shown], list[list[str]]]:
    """A target with many bugs at once: when they show, and when they are found."""
    many = Several(build_seeded(folder, name), folder)
    table, found = [], []
    for order, states in ORDERS.items():
        at = shown(states(many.judge.searched), many.judge, many.bugs, many.shows)
        table.append(Shown(name, order, len(many.bugs), at))
        found.append([name, order, *checks_until_found(many, states)])
    many.close()
    return table, found


def compare(names: Sequence[str]) -> tuple[list[Shown], list[list[str]]]:
    """Both tables."""
    table, found = list[Shown](), list[list[str]]()
    with workspace() as space:
        for name in names:
            (space / name).mkdir()
            if name in MAPS:
                lines, more = several(name, space / name)
                found += more
            else:
                lines = single(name, space / name)
            table += lines
            print("\n".join("\t".join(line.cells()) for line in lines), file=sys.stderr)
    return table, found


def measure(names: Sequence[str] = TARGETS) -> list[Row]:
    """For each target, all states until bugs showed, against the order that was the default before."""
    table, rows = compare(names)[0], list[Row]()
    for name in dict.fromkeys(line.target for line in table):
        sums = {line.order: sum(at for at, _ in line.at) for line in table if line.target == name}
        if sums["default"]:
            title = f"{name}: states until its bugs show, together"
            rows.append(cheaper(title, sums["default"], "states", "before", sums["before"]))
    return rows


def as_text(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are: {', '.join(TARGETS)}")
    table, found = compare(options.targets or TARGETS)
    head = ["target", "order", "bugs shown", "first", "half", "last", "states, together"]
    print(as_text(head, (line.cells() for line in table)))
    print(as_text(["target", "order", "findings", "bugs", "checks until each of these bugs"], found), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
