"""Programs with several mistakes (corpus/several), judged by a slow check: is each mistake a finding of its own?

    python bench/several.py                 all programs, with budgets of 60, 10 and 300 seconds; then mended one by one
    python bench/several.py wal five        some
    python bench/several.py --budgets 60    other budgets; the first is the one that counts
    python bench/several.py --delay 0       a check that is as quick as it can be

For each program and budget: mistakes that are one finding (own), several (split), part of another's (joined), or none
(missed); failing states that no finding explains; seconds against the budget. Then the kind and id of each mistake,
and those that are not the same with another budget: such a finding should at least say that it was cut short.
Then each mistake is mended alone, with the quick check: the others must keep their ids, and the finding of the mended
one must be gone if its fix said "verified".
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from kit import Row
from several_cases import Judged, Program, judge, programs, search

from powercut.findings.finding import Finding

BUDGETS = (60, 10, 300)  # seconds; the first counts, the others are compared with it
DELAY = 0.3  # seconds that the check sleeps first
GRACE = 1.25  # of the budget: a search that takes longer did not keep it


@dataclass(frozen=True, slots=True)
class Searched:
    """One search: the program, seconds that it had and took, states that were tested, and what came out."""

    program: Program
    budget: int
    seconds: float
    tested: int
    judged: Judged

    @property
    def late(self) -> bool:
        """Whether it took longer than it had."""
        return self.seconds > GRACE * self.budget

    @property
    def findings(self) -> dict[str, Finding]:
        """Of each mistake that has any, the first."""
        several = {letter: some[0] for letter, some in self.judged.split.items()}
        return {**several, **self.judged.own}

    def told(self) -> str:
        """As one line of text."""
        judged, count = self.judged, len(self.program.letters)
        figures = f"own {len(judged.own)} of {count}, joined {len(judged.joined)}, split {len(judged.split)}"
        figures += f", missed {len(judged.missed)}, wrong {len(judged.wrong)}, unexplained {judged.unexplained}"
        late = " LATE" if self.late else ""
        return f"{self.program.name}: {figures}; {self.seconds:.0f} of {self.budget} s{late}, {self.tested} tested"

    def provisional(self, other: Searched) -> tuple[list[str], list[str]]:
        """Mistakes whose kind or id differs from that of another search: those that say so, and those that do not."""
        both = self.findings.keys() & other.findings.keys()
        pairs = {letter: (self.findings[letter], other.findings[letter]) for letter in sorted(both)}
        differing = {letter: pair for letter, pair in pairs.items() if pair[0].id != pair[1].id}
        said = [letter for letter, pair in differing.items() if any(finding.cut_short for finding in pair)]
        return said, [letter for letter in differing if letter not in said]


def slowly(program: Program, budget: int, delay: float) -> Searched:
    """Search with a check that takes its time."""
    with tempfile.TemporaryDirectory() as folder:
        built = program.build(Path(folder))
        if delay:
            built = replace(built, check=shlex.join(["sh", "-c", f"sleep {delay}; exec {built.check}"]))
        start = time.monotonic()
        settings = {"max_states": None} if "max_states" in program.settings else {}
        run = search(program, built=built, budget=f"{budget}s", **settings)
        seconds = time.monotonic() - start
    return Searched(program, budget, seconds, run.states["tested"], judge(program, run, program.letters))


@dataclass(frozen=True, slots=True)
class Mended:
    """A program with one mistake mended: others that lost their ids; whether its fix was verified, and held."""

    program: Program
    letter: str
    moved: list[str]
    verified: bool
    held: bool


def mended(program: Program) -> list[Mended]:
    """Each mistake mended alone."""
    before = judge(program, search(program), program.letters).own
    found = []
    for letter in program.letters:
        run = search(program, letter)
        others = [other for other in program.letters if other != letter]
        now = judge(program, run, others).own
        moved = [
            other for other in others if other in before and (other not in now or now[other].id != before[other].id)
        ]
        mine = before.get(letter)
        verified = mine is not None and mine.fix is not None and mine.fix.verified
        held = mine is None or mine.id not in {finding.id for finding in run.findings}
        found.append(Mended(program, letter, moved, verified, held))
    return found


def searches(chosen: Iterable[Program], budgets: Sequence[int], delay: float) -> list[list[Searched]]:
    """Every program with every budget, told as they come."""
    table = []
    for program in chosen:
        row = [slowly(program, budget, delay) for budget in budgets]
        for searched in row:
            print(searched.told())
        for letter, finding in row[0].findings.items():
            print(f"    {letter}  {finding.id}  {finding.kind.value}{'  cut short' if finding.cut_short else ''}")
        for other in row[1:]:
            said, unsaid = row[0].provisional(other)
            if said or unsaid:
                print(f"    with {other.budget} s: {_list(said)} differ and say so, {_list(unsaid)} differ")
        sys.stdout.flush()
        table.append(row)
    return table


def mendings(chosen: Iterable[Program]) -> list[Mended]:
    """Every mistake of every program mended alone, told where it is not right."""
    found = [one for program in chosen for one in mended(program)]
    for one in found:
        if one.moved:
            print(f"{one.program.name}: with {one.letter} mended, {_list(one.moved)} is missed or has another id")
        if not one.held:
            print(f"{one.program.name}: with {one.letter} mended, its finding is still there")
    return found


def _list(letters: Sequence[str]) -> str:
    return ",".join(letters) or "none"


def rows(table: Sequence[Sequence[Searched]], each: Sequence[Mended]) -> list[Row]:
    """The figures."""
    first = [row[0] for row in table]
    own, every = (sum(map(len, some)) for some in ([s.judged.right for s in first], [s.program.letters for s in first]))
    unsaid = sum(len(row[0].provisional(other)[1]) for row in table for other in row[1:])
    late = sum(searched.late for row in table for searched in row)
    tried = [one for one in each if one.verified]
    title = f"mistakes that are findings of their own, check of {DELAY} s, {first[0].budget} s"
    return [
        Row(title, own, "mistakes", "all", every, own / every, "all", own == every),
        _none("findings with another id in another budget, and not provisional", unsaid),
        _none(f"searches that took more than {GRACE} budgets", late),
        _none("mistakes missed, or with another id, when one other is mended", sum(len(one.moved) for one in each)),
        _none(f"of {len(tried)} verified fixes: finding still there", sum(not one.held for one in tried)),
    ]


def _none(name: str, count: int) -> Row:
    return Row(name, count, "", target="none", met=count == 0)


def measure(
    names: Sequence[str] = (), budgets: Sequence[int] = BUDGETS, delay: float = DELAY, mend: bool = True
) -> list[Row]:
    """All programs, or some."""
    chosen = programs(names)
    return rows(searches(chosen, budgets, delay), mendings(chosen) if mend else [])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what came out; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), metavar="SECONDS,...")
    parser.add_argument("--delay", type=float, default=DELAY, metavar="SECONDS", help="that the check sleeps first")
    parser.add_argument("--no-mend", action="store_true", help="do not mend mistakes one by one")
    options = parser.parse_args(arguments)
    budgets = [int(budget) for budget in options.budgets.split(",")]
    found = measure(options.programs, budgets, options.delay, not options.no_mend)
    for row in found:
        compared = "" if row.compared is None else f" of {row.compared:.0f}"
        print(f"{row.name}: {row.measured:.0f}{compared}{'' if row.met else '  MISSED'}")
    return 0 if all(row.met for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
