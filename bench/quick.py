"""A short look at the speed that must not be lost: `make bench-quick`.

    python bench/quick.py            compare with bench/expected.json; exit status 1 if something is a fifth slower
    python bench/quick.py --write    write what was measured as what is expected
    python bench/quick.py judging    some of them

The group `counts` counts instructions and system calls, the same at any load: it is for CI, and needs Valgrind. Every
other figure is CPU time against that of a reference in the same run, turn by turn, the least of each: other work on the
machine slows both. What seems slower than expected is measured again, and again, before that is believed. Seconds of
other machines cannot be compared, ratios nearly can; on a machine of another kind, write expectations for it first.
Recording is left out: its cost varies by a factor of three with the processors that tracer and program get.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from counted import counted
from kit import HERE, Broken, cpu_of_children, workspace
from memory_tracing import prepared
from rates import SHAPES, Arena, Shape

EXPECTED = HERE / "expected.json"
MOST_LOST = 1.2  # times the expected cost
GAINED = 0.8  # below this, the expectation should be lowered, so that it cannot be lost again
TURNS, MORE_TURNS, AGAIN = 3, 2, 6
MANY, FEW = 2500, 100  # states; the difference counts, so that starting up does not
INSERTS = 60_000
FILES = """\
import hashlib, os, sys
folder, source, table = sys.argv[1], bytearray(os.urandom(1 << 20)) * 48, {}
for number in range(9_000):
    name = f"{folder}/reference-{number % 40}"
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    for block in range(3):
        place = (number * 7919 + block * 104_729) % 11_000 * 4096
        piece = source[place : place + 4096]
        os.pwrite(file, piece, number % 8 * 4096)
        table[number % 997, block] = hashlib.blake2b(piece[:512]).digest(), frozenset((number, block))
    os.ftruncate(file, number % 9 * 4096)
    os.close(file)
    if number % 5 == 0:
        os.rename(name, name + "x")
        os.unlink(name + "x")
"""
IMPORTS = "import asyncio, email.message, http.client, numpy, sqlite3, unittest.mock, xml.dom.minidom"

Cost = Callable[[], float]  # CPU seconds of one turn


@dataclass(frozen=True, slots=True)
class Figure:
    """A cost and what it is compared with."""

    name: str
    cost: Cost
    reference: Cost
    least: dict[str, float]

    def turn(self) -> None:
        """Measure both once."""
        for name, measure in (("cost", self.cost), ("reference", self.reference)):
            self.least[name] = min(self.least.get(name, 1e9), measure())

    @property
    def ratio(self) -> float:
        """By now."""
        return self.least["cost"] / self.least["reference"]


def files_reference(space: Path) -> Cost:
    """A fixed piece of Python that changes files, copies from much memory and keeps tables, as judging does."""
    return lambda: _cpu([sys.executable, "-c", FILES, str(space)])


def import_reference() -> float:
    """Starting Python with many modules: other work on the machine slows it as much as the start of powercut."""
    return _cpu([sys.executable, "-c", IMPORTS])


def _cpu(command: Sequence[str], cwd: Path | None = None, *, status: int = 0) -> float:
    """CPU seconds of a command that ends with a status."""

    def once() -> float:
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != status:
            raise Broken(f"{command[0]} ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-2000:]}")
        return 0.0

    return cpu_of_children(once)[1]


def judging(space: Path) -> Iterator[Figure]:
    """What a state costs that a Python function judges: the engine, the images, and nothing else."""
    for shape in SHAPES:
        arena = Arena.make(space / f"function-{shape.name}", shape)
        yield Figure(
            f"judging with a function, {shape.name}", _function(arena, space, shape), files_reference(space), {}
        )


def _function(arena: Arena, space: Path, shape: Shape) -> Cost:
    def explore(states: int) -> float:
        code = (
            f"import powercut; powercut.explore({arena.workload!r}, lambda path: None, dir={str(arena.folder)!r}, "
            f"output={str(space / shape.name)!r}, max_states={states}, budget='120s')"
        )
        return _cpu([sys.executable, "-c", code], space)

    return lambda: explore(MANY) - explore(FEW)


def commands(space: Path) -> Iterator[Figure]:
    """What a state costs that a command judges, against starting as many programs."""
    shape = SHAPES[0]
    arena = Arena.make(space / "command", shape)

    def explore(states: int, forks: str) -> float:
        options = ["--check", "true", "--no-equivalence", "--no-cache", "--no-lint", forks, "--dir", str(arena.folder)]
        limits = ["--max-states", str(states), "--budget", "120s", "--output", str(space / "command-runs")]
        return _cpu([sys.executable, "-m", "powercut", "test", *options, *limits, "--", *arena.workload], space)

    def spawns() -> float:
        seconds = 0.5
        rate, cpu = cpu_of_children(lambda: arena.spawn_rate(seconds))
        return cpu / (rate * seconds) * (MANY - FEW)

    for name, option in (("a command", "--no-fork-checks"), ("a forked command", "--fork-checks")):

        def cost(option: str = option) -> float:
            return explore(MANY, option) - explore(FEW, option)

        yield Figure(f"judging with {name}, {shape.name}", cost, spawns, {})


def memory(space: Path) -> Iterator[Figure]:
    """Inserts into a btree of PMDK under the memory tracer, against the program alone."""
    try:
        runs = prepared(space / "memory", INSERTS)
    except Broken as why:
        print(f"memory: left out, {why}", file=sys.stderr)
        return
    yield Figure("memory tracer with stacks", runs["with stacks"], runs["native"], {})


def start(space: Path) -> Iterator[Figure]:
    """Help, and a whole test of a program of three lines."""
    folder = space / "start"
    (folder / "data").mkdir(parents=True)
    (folder / "save.py").write_text("import os\nopen('data/a', 'w').write('x')\nos.rename('data/a', 'data/b')\n")
    powercut = str(Path(sys.executable).with_name("powercut"))

    def test() -> float:
        test = [
            powercut,
            "test",
            "--dir",
            "data",
            "--output",
            str(space / "start-runs"),
            "--",
            sys.executable,
            "save.py",
        ]
        try:
            return _cpu(test, folder, status=1)  # it has a finding
        finally:
            (folder / "data" / "b").unlink(missing_ok=True)

    yield Figure("powercut --help", lambda: _cpu([powercut, "--help"]), import_reference, {})
    yield Figure("powercut test of three lines", test, import_reference, {})


GROUPS = {"judging": judging, "commands": commands, "memory": memory, "start": start}


COUNTS = "counts"


def measure(names: Sequence[str], expected: dict[str, float]) -> dict[str, float]:
    """The figures of some groups, or of all."""
    found: dict[str, float] = {}
    with workspace() as space:
        for name in names or [*GROUPS, COUNTS]:
            for figure, value, unit in _counts(space) if name == COUNTS else _ratios(GROUPS[name](space), expected):
                found[figure] = value
                print(f"{figure}: {value:.4g}{unit}; {_verdict(value, expected.get(figure))}", flush=True)
    return found


def _ratios(figures: Iterator[Figure], expected: dict[str, float]) -> Iterator[tuple[str, float, str]]:
    """Against references; what seems too large is measured again."""
    for figure in figures:
        for _ in range(TURNS):
            figure.turn()
        for _ in range(AGAIN):
            if figure.ratio <= MOST_LOST * expected.get(figure.name, float("inf")):
                break
            for _ in range(MORE_TURNS):
                figure.turn()
        yield figure.name, figure.ratio, " times its reference"


def _counts(space: Path) -> Iterator[tuple[str, float, str]]:
    """What needs no reference. There is no CI without it, so it is not left out where Valgrind is missing."""
    for name, value in counted(space):
        yield name, value, ""


def _verdict(value: float, expected: float | None) -> str:
    if expected is None:
        return "no expectation"
    times = value / expected
    verdict = "SLOWER" if times > MOST_LOST else "faster: lower the expectation" if times < GAINED else "as expected"
    return f"expected {expected:.4g}, {times:.2f} times that: {verdict}"


def slower(found: dict[str, float], expected: dict[str, float]) -> list[str]:
    """What lost more than a fifth."""
    return [name for name, ratio in found.items() if name in expected and ratio > MOST_LOST * expected[name]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and compare or write."""
    groups = [*GROUPS, COUNTS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of: {', '.join(groups)}")
    parser.add_argument("--write", action="store_true", help="write the figures into bench/expected.json")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in groups]
    if unknown:
        parser.error(f"there is no group {', '.join(unknown)}; there are: {', '.join(groups)}")
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    try:
        found = measure(options.names, {} if options.write else expected)
    except Broken as why:
        print(f"bench-quick: {why}", file=sys.stderr)
        return 2
    if options.write:
        EXPECTED.write_text(
            json.dumps({**expected, **{name: round(r, 4) for name, r in found.items()}}, indent=2) + "\n"
        )
        return 0
    lost = slower(found, expected)
    if lost:
        print(f"More than a fifth slower than expected: {', '.join(lost)}. Profile before you raise an expectation.")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
