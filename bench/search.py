"""Ways of searching compared: time and states until each known bug of four small targets is found, for each mode.

    python bench/search.py                           all targets, as a table
    python bench/search.py store lmdb --budget 60    some, with more seconds for each search

A search ends at its first finding, with its last state, or with its budget. The first two columns say how many states
there are in all, counted exactly, and how many of them `representatives` would judge if nothing stopped it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hunt import MODES, Hunted, Known, hunt
from kit import Row, workspace
from known_bugs import TARGETS

from powercut.model.filesystem import file_systems
from powercut.settings import Settings
from powercut.states.strategies import STRATEGIES, Tally
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace

BUDGET = 30.0  # seconds for each search; few take that long
MOST = 1_000_000  # states of representatives that are counted


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table.

    Attributes:
        states: of the whole run; None where they are too many to count.
        represented: those of them that representatives would judge.
        hunts: by mode.
    """

    known: Known
    states: int | None
    represented: int
    hunts: dict[str, Hunted]

    def cells(self) -> list[str]:
        """As text."""
        states = "?" if self.states is None else _large(self.states)
        return [self.known.target, self.known.bug, states, str(self.represented), *map(_cell, self.hunts.values())]


def _large(number: int) -> str:
    return str(number) if number < MOST else f"{number:.1e}"


def _cell(hunted: Hunted) -> str:
    if hunted.found:
        return f"{hunted.seconds:.1f} s, {hunted.states}"
    return f"none of {hunted.states}" if hunted.ended else f"> {hunted.seconds:.0f} s, {hunted.states}"


def compare(names: Sequence[str], budget: float) -> list[Entry]:
    """Every known bug of some targets, in every mode."""
    table: list[Entry] = []
    with workspace() as space:
        for name in names:
            (space / name).mkdir()
            for known in TARGETS[name](space / name):
                trace = known.record()
                hunts = {mode: hunt(known, trace, chosen, budget) for mode, chosen in MODES.items()}
                table.append(Entry(known, *states_of(known, trace), hunts))
                print("\t".join(table[-1].cells()), file=sys.stderr)
    return table


def states_of(known: Known, trace: Trace) -> tuple[int | None, int]:
    """How many states there are in all, None where they are too many to count, and how many of representatives."""
    settings = Settings(**known.settings)
    timeline = Timeline(trace, file_systems(settings.fs, settings.memory)[0])
    tally = Tally(timeline)
    states = STRATEGIES["representatives"](timeline, random.Random(0), tally)
    total = tally.counts.total()
    return total if isinstance(total, int) else None, sum(1 for _ in islice(states, MOST))


def as_text(table: Sequence[Entry]) -> str:
    """The table in Markdown; at its end, what each mode found of each target."""
    head = ["target", "bug", "states", "of representatives", *MODES]
    lines = [head, ["---"] * len(head), *(entry.cells() for entry in table)]
    for name in _targets(table):
        hunts = [entry.hunts for entry in table if entry.known.target == name]
        found = [f"{sum(hunt[mode].found for hunt in hunts)} of {len(hunts)}" for mode in MODES]
        lines.append([name, "found", "", "", *found])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _targets(table: Sequence[Entry]) -> list[str]:
    return list(dict.fromkeys(entry.known.target for entry in table))


def missed(table: Sequence[Entry]) -> list[Known]:
    """Bugs that exhaustive finds and representative does not."""
    return [entry.known for entry in table if entry.hunts["exhaustive"].found > entry.hunts["representative"].found]


def measure(names: Sequence[str] = tuple(TARGETS), budget: float = BUDGET) -> list[Row]:
    """For each target: the states of representatives against all, and whether they miss a bug."""
    table = compare(names, budget)
    return [_row(name, [entry for entry in table if entry.known.target == name]) for name in _targets(table)]


def _row(name: str, table: Sequence[Entry]) -> Row:
    counted = [entry for entry in table if entry.states is not None]
    every, few = sum(entry.states or 0 for entry in counted), sum(entry.represented for entry in counted)
    found = sum(entry.hunts["representative"].found for entry in table)
    title = f"{name}: representative finds {found} of {len(table)} bugs, misses {len(missed(table))} of exhaustive"
    met = not missed(table) and few <= every / 10
    return Row(title, few, "states", "all", every, every / max(1, few), "ratio >= 10, none missed", met)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status is 1 if representative missed a bug that exhaustive found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS", help="for each search")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are: {', '.join(TARGETS)}")
    table = compare(options.targets or list(TARGETS), options.budget)
    print(as_text(table), end="")
    return 1 if missed(table) else 0


if __name__ == "__main__":
    sys.exit(main())
