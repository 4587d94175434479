"""The seeded mistakes of the hash table and the B+ tree of corpus/race: how soon each is found, what else, and replays.

Every mistake is looked for in a run of its own, with seeds of the grammar. A finding at a line that is not marked for
the mistake is a false positive, and is listed; so is everything that is found in the maps without a mistake.

    python bench/race_maps.py --threads 8 --budget 180
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kit import Row, at_most, workspace
from race_hunt import Hunted, Target, hunt, never
from run import table

from powercut.findings.finding import Finding
from powercut.race.race_replay import replay_race
from powercut.runs.store import load_run

import race_index  # isort: skip  (of the corpus, which race_hunt put on the path)

BUDGET = 600.0  # seconds for each mistake
LONGEST = 30.0  # seconds that a run goes on after its mistake is found: what else is there?
CLEAN = 60.0  # seconds for a map without a mistake
REPLAYS = 10
SEEN = 9  # of those at least
FALSE = 0.2  # of all findings that are bugs may be false
ROLES = {"stored": "WRITE", "read": "READ", "taken": "LOCK"}


@dataclass(slots=True)
class Tally:
    """What all runs together came to."""

    slowest: float = 0.0
    missed: list[str] = field(default_factory=list)
    true: int = 0
    false: list[str] = field(default_factory=list)
    replayed: list[tuple[str, int]] = field(default_factory=list)
    mistakes: int = 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--threads", type=int, metavar="N", help="of the maps; without it, as their grammar says")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="SECONDS", help="for each mistake")
    options = parser.parse_args(arguments)
    print(table(measure(options.budget, threads=options.threads)), end="")


def measure(
    budget: float = BUDGET, longest: float = LONGEST, clean: float = CLEAN, threads: int | None = None
) -> list[Row]:
    """All mistakes, and both maps without one."""
    tally = Tally()
    with workspace() as space:
        program = race_index.build_index(space)
        for name, bug in _subjects():
            target = _target(race_index.Index(program, name, bug.name if bug else None), bug, space, threads)
            tell(target.name, look_for(target, bug is not None, budget, longest, clean, tally))
    for line in [*(f"missed: {name}" for name in tally.missed), *(f"false: {text}" for text in tally.false)]:
        print(line, file=sys.stderr)
    return rows(tally, budget)


def _subjects() -> Iterator[tuple[str, race_index.IndexBug | None]]:
    for bug in race_index.index_bugs():
        yield from ((name, bug) for name in bug.maps)
    yield from ((name, None) for name in race_index.MAPS)


def _target(index: race_index.Index, bug: race_index.IndexBug | None, space: Path, threads: int | None) -> Target:
    data = space / "data"
    data.mkdir(exist_ok=True)
    name = f"{index.map}, {index.bug or 'no mistake'}"
    return Target(
        name,
        data,
        index.workload(data),
        index.check,
        index.check,
        lambda finding: bug is not None and is_true(finding, bug),
        {"grammar": race_index.GRAMMAR, "threads": threads},
    )


def is_true(finding: Finding, bug: race_index.IndexBug) -> bool:
    """Whether a finding is the mistake that was made: confirmed, of its kind, and at its lines."""
    if finding.severity != "error" or finding.kind.value not in bug.kinds:
        return False
    places = {place.role: (Path(place.file).name, place.line) for place in finding.locations}
    return all(
        places[role] in race_index.marked_lines(mark, bug.name) for role, mark in ROLES.items() if role in places
    )


def look_for(target: Target, seeded: bool, budget: float, longest: float, clean: float, tally: Tally) -> Hunted:
    """A run that looks for a mistake and goes on for a while when it is found, or one of a program without mistakes."""
    if not seeded:
        hunted = hunt(target, "pm", 1, clean, never)
    else:
        tally.mistakes += 1
        hunted = hunt(target, "pm", 1, budget)
        if hunted.seconds is None:
            tally.missed.append(target.name)
            return hunted
        tally.slowest = max(tally.slowest, hunted.seconds)
        hunted = hunt(target, "pm", 1, min(hunted.seconds + longest, budget), never)
    bugs = [finding for finding in hunted.findings.values() if finding.severity == "error"]
    tally.true += sum(target.wanted(finding) for finding in bugs)
    tally.false += [f"{target.name}: {finding.message}" for finding in bugs if not target.wanted(finding)]
    replayed = list(_replays(target))
    print(f"{target.name}: replays {replayed}", file=sys.stderr)
    tally.replayed += [(target.name, seen) for seen in replayed]
    return hunted


def _replays(target: Target) -> Iterator[int]:
    """How often the race of a saved run is seen again, of ten times."""
    (folder,) = (target.data.parent / ".powercut" / "runs").iterdir()
    run = load_run(folder)
    for finding in run.findings:
        if target.wanted(finding) and finding.race is not None:
            yield replay_race(folder, run, finding, finding.race, REPLAYS, lambda _: None, views=True).seen


def tell(name: str, hunted: Hunted) -> None:
    """One line for one run."""
    when = "-" if hunted.seconds is None else f"{hunted.seconds:.1f} s"
    kinds = sorted(f"{one.severity} {one.kind.value}" for one in hunted.findings.values())
    print(f"{name}: {when}, {hunted.executions} executions; {', '.join(kinds)}", file=sys.stderr)


def rows(tally: Tally, budget: float) -> list[Row]:
    """What all runs together came to, for the table."""
    found = tally.mistakes - len(tally.missed)
    share = len(tally.false) / max(tally.true + len(tally.false), 1)
    least = min((seen for _, seen in tally.replayed), default=0)
    return [
        Row("seeded mistakes found", found, "", "all", tally.mistakes, None, "all", found == tally.mistakes),
        at_most("the slowest of them", tally.slowest, "s", budget),
        Row("false positives", len(tally.false), "", "bugs", tally.true, share, "at most 1 in 5", share <= FALSE),
        Row(f"the worst replay, of {REPLAYS}", least, "", target=f">= {SEEN}", met=least >= SEEN),
    ]


if __name__ == "__main__":
    main()
