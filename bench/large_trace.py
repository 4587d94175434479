"""A trace of a million events: how fast it loads, and how much memory exploring it takes.

Memory is the peak of a fresh process less that of one that only imports the same modules. A few thousand states of a
trace this long would all come from the first strategy, so every strategy gets its share, as in a run of hours.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from kit import HERE, Row, at_most, run, workspace
from synthetic import write_trace

from powercut.model.filesystem import ONE_ROW
from powercut.oracle.verdict import Outcome, Verdict
from powercut.search.budget import Budget
from powercut.search.events import Event
from powercut.search.exploration import Exploration
from powercut.search.jobs import Job, Result
from powercut.states.state import State
from powercut.states.strategies import STRATEGIES, Tally
from powercut.states.timeline import Timeline
from powercut.trace.reader import Trace

EVENTS = 1_000_000
STATES = 3000
TURNS = 3
MOST_SECONDS = 15.0  # for each strategy


def measure(events: int = EVENTS, states: int = STATES, rounds: int = TURNS) -> list[Row]:
    """Load it some times, explore it once."""
    with workspace() as space:
        path = space / "trace"
        write_trace(path, events)
        loads = [probe("load", path)["load"] for _ in range(rounds)]
        base = probe("nothing", path)["peak"]
        explored = probe("explore", path, states)
    grown = (explored["peak"] - base) / events
    thousands = f"{events / 1000:,.0f},000 events"
    costs = {name: 1000 * seconds / max(1, count) for name, (count, seconds) in explored["strategies"].items()}
    slowest, usual = max(costs, key=costs.__getitem__), median(costs.values())
    return [
        at_most(f"loading {thousands}", min(loads), "s", 2.0),
        at_most(f"exploring {thousands}: memory", grown, "B/event", 500.0),
        Row(f"exploring {thousands}: timeline", explored["timeline"], "s"),
        Row(f"exploring {thousands}: {explored['states']} states", explored["explore"], "s"),
        Row(f"slowest strategy: {slowest}", costs[slowest], "ms/state", "median of all", usual, costs[slowest] / usual),
    ]


def probe(what: str, path: Path, states: int = 0) -> dict[str, Any]:
    """One measurement in a process of its own."""
    command = [sys.executable, str(HERE / "large_trace.py"), what, str(path), str(states)]
    answer: dict[str, Any] = json.loads(run(command))
    return answer


def peak_memory() -> int:
    """The most memory this process ever had, in bytes. Unlike that of getrusage, it starts anew at exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Approving:
    """An executor whose oracle lets everything pass, without an image."""

    def __init__(self) -> None:
        self._done: list[Result] = []

    def submit(self, jobs: Sequence[Job]) -> None:
        """Judge at once."""
        self._done += [Result(job.id, Verdict(Outcome.PASS)) for job in jobs]

    def results(self, timeout: float | None) -> list[Result]:
        """What was judged since the last call."""
        done, self._done = self._done, []
        return done

    def capacity(self) -> int:
        """One after the other."""
        return 1 - len(self._done)

    def close(self) -> None:
        """Nothing to end."""


def explore(trace: Trace, states: int) -> dict[str, Any]:
    """Build the timeline, and have some thousand states generated, digested and judged."""
    start = time.perf_counter()
    timeline = Timeline(trace, ONE_ROW)
    built = time.perf_counter()
    strategies: dict[str, tuple[int, float]] = {}
    with patch("powercut.search.exploration.joint_queue", shares(states, strategies)):
        exploration = Exploration([timeline], Approving(), _nothing_owed, Budget(states=states), 0, _ignore)
        exploration.run()
    return {
        "timeline": built - start,
        "explore": time.perf_counter() - built,
        "states": sum(count for count, _ in strategies.values()),
        "strategies": strategies,
    }


def shares(states: int, spent: dict[str, tuple[int, float]]) -> Any:
    """A queue in which every strategy has an equal share; notes how many states each gave, and in how many seconds."""

    def queue(
        timelines: Mapping[int, Timeline],
        seed: int,
        names: Sequence[str],
        tired: Container[int],
        tallies: Mapping[int, Tally],
    ) -> Iterator[tuple[int, str, State]]:
        for name in names:
            start = time.perf_counter()
            drawn = STRATEGIES[name](timelines[0], random.Random(seed), tallies[0])
            for count, state in enumerate(islice(drawn, states // len(names))):
                yield 0, name, state
                spent[name] = (count + 1, time.perf_counter() - start)
                if spent[name][1] > MOST_SECONDS:
                    break

    return queue


def _nothing_owed(timeline: Timeline, point: int, unsaid: frozenset[int]) -> int:
    return 0


def _ignore(event: Event) -> None:
    """Nobody listens."""


def main(what: str, path: str, states: str) -> None:
    """One measurement, printed as JSON."""
    answer: dict[str, Any] = {}
    if what != "nothing":
        start = time.perf_counter()
        trace = Trace.open(path)
        answer["load"] = time.perf_counter() - start
        if what == "explore":
            answer |= explore(trace, int(states))
    print(json.dumps({**answer, "peak": peak_memory()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
