"""The seeded races of corpus/race/published: how soon each is found, what else is called a bug, and replays.

Every race is looked for in a run of its own, with seeds of the grammar of its program. A bug at a line that is not
marked for the race is false, and is listed; so is every bug of a program without a race.

    python bench/race_programs.py                             all programs, 4 threads
    python bench/race_programs.py chains --threads 8          one of them, with other numbers of threads
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kit import Row, workspace
from race_hunt import Target
from race_maps import ROLES, Tally, look_for, rows, tell
from run import table

from powercut.findings.finding import Finding

import race_programs as programs  # isort: skip  (of the corpus, which race_hunt put on the path)

BUDGET = 300.0  # seconds for each race
LONGEST = 30.0  # seconds that a run goes on after its race is found
CLEAN = 60.0  # seconds for a program without a race


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--threads", type=int, metavar="N", help="of the programs; without it, as their grammar says")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS", help="for each race")
    options = parser.parse_args(arguments)
    print(table(measure(options.names, options.budget, threads=options.threads)), end="")


def measure(
    names: Sequence[str] = (), budget: float = BUDGET, clean: float = CLEAN, threads: int | None = None
) -> list[Row]:
    """All races, and all programs without one."""
    tally = Tally()
    for program in programs.race_programs():
        for race in (*program.races, None) if not names or program.name in names else ():
            with workspace() as space:
                target = target_of(program, race, space, threads)
                tell(target.name, look_for(target, race is not None, budget, LONGEST, clean, tally))
    for line in [*(f"missed: {name}" for name in tally.missed), *(f"false: {text}" for text in tally.false)]:
        print(line, file=sys.stderr)
    return rows(tally, budget)


def target_of(
    program: programs.RaceProgram, race: programs.SeededRace | None, space: Path, threads: int | None
) -> Target:
    """A program with a race, or without, built and ready to run."""
    built = programs.build_program(program, race.name if race else None, space)
    return Target(
        f"{program.name}, {race.name if race else 'no race'}",
        built.data,
        built.workload,
        built.recovery,
        built.check,
        lambda finding: race is not None and is_true(finding, race),
        {"grammar": program.grammar, "threads": threads, "client": built.client},
    )


def is_true(finding: Finding, race: programs.SeededRace) -> bool:
    """Whether a finding is the race that was compiled in: confirmed, of its kind, and at its lines."""
    if finding.severity != "error" or finding.kind.value != race.kind:
        return False
    places = {place.role: (Path(place.file).name, place.line) for place in finding.locations}
    return all(
        places[role] in programs.marked_lines(race.program, mark, race.name)
        for role, mark in ROLES.items()
        if role in places
    )


if __name__ == "__main__":
    main()
