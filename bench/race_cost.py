"""What race mode costs: CPU time against the program alone, and campaigns a second.

The program is the hash table of corpus/race with four threads; the pool lies in memory. It carries out operations that
it reads before it maps the pool, and random ones, with the pool mapped from the start. CPU time is that of all
processes, tracer and start-up included. Rates are those of `powercut race` on two cores, with everything that it does
between executions.

    python bench/race_cost.py --random        only with the pool mapped from the start

The best of a few turns counts.
"""

from __future__ import annotations

import argparse
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kit import Broken, Row, at_least, cpu_of_children, dearer, turns, workspace
from race_hunt import Target, hunt, never
from run import table

from powercut.race.board import Board, BoardFlag, Plan
from powercut.record.execution import execute
from powercut.record.recorder import RecordOptions
from powercut.record.tracers import require_memory_tool

import race_index  # isort: skip  (of the corpus, which race_hunt put on the path)

TURNS = 3
OPERATIONS = 1_000_000
RANDOM = 500_000  # operations of each thread
CAMPAIGN = 4_000  # operations of one campaign
SECONDS = 20.0  # that campaigns are counted
KEYS = 2_000
COMMANDS = ("put",) * 5 + ("get",) * 3 + ("del", "copy")
NATIVE = "native"
MODES = {  # times the CPU time of the program alone, at most
    "candidates": (BoardFlag.CANDIDATE, 8.0),
    "candidates and taint": (BoardFlag.CANDIDATE | BoardFlag.TAINT, 12.0),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--random", action="store_true", help="only with the pool mapped from the start")
    print(table(_measure_random(TURNS) if parser.parse_args(arguments).random else measure()), end="")


def measure(rounds: int = TURNS, operations: int = OPERATIONS) -> list[Row]:
    """CPU time of each mode, and the rate of campaigns."""
    with workspace() as space:
        index = race_index.Index(race_index.build_index(space), "table")
        seed, data = space / "operations", space / "data"
        seed.write_text(_operations(operations))
        data.mkdir()
        rows = _compare(f"{operations:,} operations of a table", index.workload(data), seed, data, rounds)
        rows.append(_rate(index, space, data))
    return rows + _measure_random(rounds)


def _measure_random(rounds: int) -> list[Row]:
    """CPU time of each mode, with the pool mapped from the start."""
    with workspace() as space:
        index, data = race_index.Index(race_index.build_index(space), "table"), space / "data"
        data.mkdir()
        command = index.workload(data, "stress", "1", str(RANDOM), "4")
        return _compare(f"{4 * RANDOM:,} random operations, pool mapped", command, Path("/dev/null"), data, rounds)


def _compare(what: str, command: list[str], seed: Path, data: Path, rounds: int) -> list[Row]:
    contestants = {NATIVE: _alone(command, seed, data)}
    contestants |= {name: _traced(command, seed, data, flags) for name, (flags, _) in MODES.items()}
    best = {name: min(values) for name, values in turns(rounds, contestants).items()}
    return [
        dearer(f"{what}, {name}", best[name], "CPU s", NATIVE, best[NATIVE], times=most)
        for name, (_, most) in MODES.items()
    ]


def _operations(count: int) -> str:
    dice = random.Random(1)

    def line() -> str:
        command = dice.choice(COMMANDS)
        keys = [str(dice.randint(1, KEYS)) for _ in range(2 if command == "copy" else 1)]
        return f"{dice.randrange(4)} {command} {' '.join(keys)}\n"

    return "".join(line() for _ in range(count))


def _alone(command: list[str], seed: Path, data: Path) -> Callable[[], float]:
    """CPU seconds of the program alone, on an empty folder."""

    def run() -> float:
        for path in data.iterdir():
            path.unlink()
        with open(seed, "rb") as text:
            subprocess.run(command, stdin=text, stdout=subprocess.DEVNULL, check=True)
        for path in data.iterdir():
            path.unlink()
        return 0.0

    return lambda: cpu_of_children(run)[1]


def _traced(command: list[str], seed: Path, data: Path, flags: BoardFlag) -> Callable[[], float]:
    """CPU seconds of one execution in race mode."""
    options = RecordOptions(
        folder=data,
        cwd=data.parent,
        output=data.parent / "trace",
        namespaces=True,
        memory_tool=require_memory_tool(Path(command[0])),
        persistent_memory=True,
        stdin=seed,
    )

    def run() -> float:
        with Board(Plan(flags=flags)) as board:
            done = execute(command, replace(options, boards=(("race", board.descriptor),)))
            if done.code or not board.read().process:
                raise Broken(f"{command[0]} {done.ending}; {done.last_words()}")
        return 0.0

    return lambda: cpu_of_children(run)[1]


def _rate(index: race_index.Index, space: Path, data: Path) -> Row:
    """Campaigns a second, scheduled, with all that is done between them."""
    seeds = space / "seeds"
    seeds.mkdir()
    (seeds / "one").write_text(_operations(CAMPAIGN))
    target = Target("table", data, index.workload(data), index.check, index.check, bool, {"seeds": seeds})
    hunted = hunt(target, "pm", 1, SECONDS, never)
    rate = hunted.executions / hunted.whole
    return at_least(f"campaigns of {CAMPAIGN:,} operations, 2 cores", rate, "/s", "target", 1.0, ratio=1.0)


if __name__ == "__main__":
    main()
