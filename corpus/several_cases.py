"""The programs of several/: two to five independent mistakes in each; how they are run, and which finding is which.

    python corpus/several_cases.py                 all programs, as they are
    python corpus/several_cases.py NAME...         some
    python corpus/several_cases.py --each NAME...  each mistake alone, the others mended; then all mended

A mistake has a letter. `MEND=a,c` in the environment of program and check mends some of them. Lines that the finding
of a mistake may name end with a comment like `LOST a b SURVIVED c`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import CORPUS, build, check_command
from memory_cases import ENVIRONMENT

import powercut
from powercut.findings.finding import Finding, Location
from powercut.runs.store import SavedRun

SEVERAL = CORPUS / "several"
SIGNS = {".py": "#", ".c": "//", ".h": "//", ".cpp": "//", ".js": "//"}
ROLES = {"LOST": "lost", "SURVIVED": "survived", "ACKED": "acknowledged"}
WITHOUT_LINES = ("javascript",)
OF_A_SYNC = re.compile(r"sync|clwb|sfence|flush|persist")


@dataclass(frozen=True)
class Mistake:
    """One change of source that is missing.

    Attributes:
        kinds: any of which its finding may have.
        fix: "sync" if one more sync mends it, "order" if another order does, else "other".
        lost, partner: patterns of what is lost, and of what survived or was said, where lines alone do not tell
            mistakes apart: one line makes several, or the language has none (powercut names no lines of JavaScript).
    """

    letter: str
    title: str
    kinds: frozenset[str]
    fix: str
    lost: str = ""
    partner: str = ""

    def is_about(self, place: Location) -> bool:
        """Whether what happened at a place fits."""
        return bool(re.search(self.lost if place.role == "lost" else self.partner, place.what))


@dataclass(frozen=True)
class Built:
    """A program that is ready to run."""

    workload: list[str]
    check: str
    data: Path


@dataclass(frozen=True)
class Program:
    """A folder of several/.

    Attributes:
        memory: it maps files: the memory tracer is needed.
        create: it makes its data beforehand, when called with FOLDER create.
        settings: of powercut, beside its defaults.
    """

    folder: Path
    title: str
    language: str
    mistakes: dict[str, Mistake]
    libraries: tuple[str, ...] = ()
    memory: bool = False
    create: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def letters(self) -> str:
        """Of all mistakes."""
        return "".join(self.mistakes)

    def build(self, folder: Path) -> Built:
        """Compile what needs it, and make the data folder with which the program starts."""
        (source,) = self.folder.glob("program.*")
        (check,) = self.folder.glob("check.*")
        program = ["node", str(source)] if source.suffix == ".js" else build(source, folder, self._flags)
        judge = check_command(check) if check.suffix == ".py" else shlex.join(build(check, folder, self._flags))
        data = folder / "data"
        if (self.folder / "seed").is_dir():
            shutil.copytree(self.folder / "seed", data)
        else:
            data.mkdir()
        if self.create:
            subprocess.run([*program, str(data), "create"], check=True, env={**os.environ, **ENVIRONMENT})
        return Built([*program, str(data)], judge, data)

    @property
    def _flags(self) -> tuple[str, ...]:
        return ("-O1", "-pthread", *(f"-l{library}" for library in self.libraries))

    @cached_property
    def marks(self) -> dict[tuple[str, int, str], str]:
        """The letters that stand at a line of a file, for a role."""
        found: dict[tuple[str, int, str], str] = {}
        sources = [path for path in self.folder.rglob("*") if path.suffix in SIGNS and path.stem != "check"]
        for path in sources:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                role = ""
                for word in line.rpartition(f" {SIGNS[path.suffix]} ")[2].split():
                    if word in ROLES:
                        role = ROLES[word]
                    elif role and word in self.mistakes:
                        key = path.name, number, role
                        found[key] = found.get(key, "") + word
                    else:
                        break
        return found

    def letters_of(self, finding: Finding) -> set[str]:
        """The mistakes that a finding may be: all lines that it names are marked with them."""
        places = [self._at(place) for place in finding.locations if place.role in ROLES.values()]
        return set.intersection(*places) if places else set()

    def lost_letters(self, finding: Finding) -> set[str]:
        """All mistakes of which a finding names a lost line."""
        return {letter for place in finding.locations if place.role == "lost" for letter in self._at(place)}

    def _at(self, place: Location) -> set[str]:
        letters = self.marks.get((Path(place.file or "").name, place.line or 0, place.role), "")
        if self.language in WITHOUT_LINES:
            letters = self.letters
        return {letter for letter in letters if self.mistakes[letter].is_about(place)}


@dataclass
class Judged:
    """What the findings of one run are, against the mistakes that are there.

    Attributes:
        own: the one finding of each mistake that has one.
        split: findings of mistakes that have several.
        joined: findings that name what two mistakes lose.
        wrong: findings that no mistake explains: their lines, or kind, or fix.
        missed: mistakes without any finding of their own.
        unexplained: failing states that no finding explains.
    """

    own: dict[str, Finding] = field(default_factory=dict)
    split: dict[str, list[Finding]] = field(default_factory=dict)
    joined: list[Finding] = field(default_factory=list)
    wrong: list[tuple[Finding, str]] = field(default_factory=list)
    missed: set[str] = field(default_factory=set)
    unexplained: int = 0

    @property
    def right(self) -> dict[str, Finding]:
        """Those of `own` whose kind and fix are right, too."""
        wrong = [finding for finding, _ in self.wrong]
        return {letter: finding for letter, finding in self.own.items() if finding not in wrong}

    @property
    def same_ids(self) -> list[str]:
        """Ids that several mistakes share."""
        ids = [finding.id for finding in self.own.values()]
        return sorted({id for id in ids if ids.count(id) > 1})

    @property
    def verdict(self) -> str:
        """OK, or what is not."""
        parts = [
            f"missed {','.join(sorted(self.missed))}" if self.missed else "",
            f"split {','.join(sorted(self.split))}" if self.split else "",
            f"joined {' '.join(finding.id for finding in self.joined)}" if self.joined else "",
            "".join(f"wrong {finding.id}: {why}; " for finding, why in self.wrong),
            f"{self.unexplained} states unexplained" if self.unexplained else "",
            f"id of several {','.join(self.same_ids)}" if self.same_ids else "",
        ]
        return "; ".join(filter(None, parts)) or "OK"


def judge(program: Program, run: SavedRun, expected: Iterable[str]) -> Judged:
    """Which finding is which mistake of the expected ones."""
    judged = Judged(unexplained=run.states.get("unexplained", 0))
    found: dict[str, list[Finding]] = {}
    for finding in run.findings:
        letters = program.letters_of(finding) & set(expected)
        if len(letters) == 1:
            (letter,) = letters
            found.setdefault(letter, []).append(finding)
            if why := _objection(program.mistakes[letter], finding):
                judged.wrong.append((finding, why))
        elif len(program.lost_letters(finding)) > 1:
            judged.joined.append(finding)
        else:
            judged.wrong.append((finding, f"it could be {sorted(letters)}" if letters else "its lines are unknown"))
    judged.own = {letter: some[0] for letter, some in found.items() if len(some) == 1}
    judged.split = {letter: some for letter, some in found.items() if len(some) > 1}
    judged.missed = set(expected) - set(found)
    return judged


def _objection(mistake: Mistake, finding: Finding) -> str:
    if finding.kind.value not in mistake.kinds:
        return f"{mistake.letter} is not {finding.kind.value}"
    text = finding.fix.text if finding.fix else ""
    if mistake.fix == "sync" and not finding.cut_short and not OF_A_SYNC.search(text):
        return f"a sync mends {mistake.letter}"
    if mistake.fix == "other" and finding.fix and finding.fix.verified:
        return f"neither a sync nor another order mends {mistake.letter}"
    if mistake.fix == "order" and text.startswith("call "):
        return f"no sync mends {mistake.letter}"
    return ""


def programs(names: Sequence[str] = ()) -> list[Program]:
    """All programs of several/, or some, by name."""
    found = [_read(path) for path in sorted(SEVERAL.glob("*/case.toml"))]
    unknown = set(names) - {program.name for program in found}
    if unknown:
        raise SystemExit(f"there is no program {', '.join(sorted(unknown))} in {SEVERAL}")
    return [program for program in found if not names or program.name in names]


def _read(path: Path) -> Program:
    table = tomllib.loads(path.read_text())
    mistakes = {
        letter: Mistake(
            letter, row["title"], frozenset(row["kinds"]), row["fix"], row.get("lost", ""), row.get("partner", "")
        )
        for letter, row in table["mistake"].items()
    }
    return Program(
        path.parent,
        table["title"],
        table["language"],
        mistakes,
        libraries=tuple(table.get("libraries", ())),
        memory=table.get("memory", False),
        create=table.get("create", False),
        settings=table.get("settings", {}),
    )


@contextmanager
def mending(letters: Iterable[str]) -> Iterator[None]:
    """Some mistakes are mended, in what is run meanwhile."""
    before = os.environ.get("MEND")
    os.environ["MEND"] = ",".join(letters)
    try:
        yield
    finally:
        if before is None:
            del os.environ["MEND"]
        else:
            os.environ["MEND"] = before


def search(program: Program, mended: Iterable[str] = "", built: Built | None = None, **settings: Any) -> SavedRun:
    """Run powercut on a program with some of its mistakes mended."""
    with tempfile.TemporaryDirectory() as folder, mending(mended):
        chosen = built or program.build(Path(folder))
        given = {"output": f"{folder}/runs", "lint": False, "cache": False, **program.settings, **settings}
        return powercut.explore(chosen.workload, chosen.check, dir=chosen.data, **given)


def described(program: Program, finding: Finding) -> Iterator[str]:
    """A finding in a few lines."""
    letters = "".join(sorted(program.letters_of(finding))) or "?"
    marks = ("cut short",) if finding.cut_short else ()
    facts = ", ".join((f"{finding.occurrences} states", ",".join(finding.models), *marks))
    yield f"  {letters}  {finding.id}  {finding.kind.value}  ({facts})"
    for place in finding.locations:
        yield f"       {place.role}: {place.short} {place.what}"
    if finding.fix:
        yield f"       fix{' (verified)' if finding.fix.verified else ''}: {finding.fix.text}"


def tell(program: Program, mended: str, **settings: Any) -> bool:
    """Run a program and print what came out; whether it is right."""
    expected = [letter for letter in program.letters if letter not in mended]
    start = time.monotonic()
    run = search(program, mended, **settings)
    judged = judge(program, run, expected)
    states = f"{run.states['tested']} tested of {run.states['total']}{'' if run.states['exhausted'] else ', not all'}"
    seconds = time.monotonic() - start
    print(f"{program.name} [{''.join(expected) or 'all mended'}]: {judged.verdict} ({states}; {seconds:.1f} s)")
    for finding in run.findings:
        print("\n".join(described(program, finding)))
    for letter in sorted(judged.missed):
        print(f"  {letter}  missed: {program.mistakes[letter].title}")
    sys.stdout.flush()
    return judged.verdict == "OK"


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell of programs; 1 if some verdict is not OK."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--each", action="store_true", help="each mistake alone, then none")
    parser.add_argument("--mended", action="store_true", help="none")
    parser.add_argument("--budget", default="60s")
    options = parser.parse_args(arguments)
    right = []
    for program in programs(options.names):
        mendings = [""]
        if options.each:
            mendings = [program.letters.replace(letter, "") for letter in program.letters]
        if options.each or options.mended:
            mendings = [*(mendings if options.each else ()), program.letters]
        right += [tell(program, mended, budget=options.budget) for mended in mendings]
    print(f"{sum(right)} of {len(right)} OK")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
