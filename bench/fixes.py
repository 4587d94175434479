"""Do verified fixes mend? Every fix of the corpora that says so is put in by the tracer, and the program is searched.

    python bench/fixes.py                      files, memory and several
    python bench/fixes.py memory               some

For each program: findings, fixes verified in the model, those of them that are gone when the program runs again
with the fix put in, and those that are not. Orders of calls, which no tracer can change, count as not tried.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from harness import build, cases, check_command
from kit import Row
from memory_cases import memory_cases
from several_cases import programs

import powercut
from powercut.testing.try_fix import try_fix

BUDGET = "20s"
STATES = 600


@dataclass(slots=True)
class Mended:
    """What became of the fixes of one program."""

    name: str
    findings: int = 0
    verified: int = 0
    gone: int = 0
    still_there: list[str] = field(default_factory=list)
    not_seen: list[str] = field(default_factory=list)

    def told(self) -> str:
        """As one line of text."""
        bad = "".join(f"; STILL THERE {text}" for text in self.still_there)
        open_ = "".join(f"; not seen again {text}" for text in self.not_seen)
        return f"{self.name}: {self.findings} findings, {self.verified} verified, {self.gone} gone{bad}{open_}"


def tried(name: str, workload: list[str], check: str, data: Path, **settings: object) -> Mended:
    """Search a program, and try each of its fixes that is verified in the model."""
    output = data.parent / "runs"
    given = {"output": str(output), "lint": False, "cache": False, "budget": BUDGET, "max_states": STATES, **settings}
    run = powercut.explore(workload, check, dir=data, **given)  # type: ignore[arg-type]
    found = Mended(name, len(run.findings))
    for finding in run.findings:
        if finding.fix is None or not finding.fix.verified or finding.fix.by != "model":
            continue
        found.verified += 1
        trial = try_fix(output, finding.id)
        found.gone += trial.gone
        told = f"{finding.id} {finding.fix.text}"
        if trial.seen is not None:
            found.still_there.append(told)
        elif not trial.gone:
            found.not_seen.append(told)
    return found


def files() -> Iterator[Mended]:
    """The programs of corpus/files."""
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            data = case.seed(Path(folder) / "data")
            workload = [*build(case.source("buggy"), Path(folder)), str(data)]
            yield tried(f"files/{case.folder.name}", workload, check_command(case.check), data, fs=case.fs[0])


def memory() -> Iterator[Mended]:
    """The programs of corpus/memory."""
    for case in memory_cases():
        with tempfile.TemporaryDirectory() as folder:
            built = case.build("buggy", Path(folder))
            yield tried(f"memory/{case.name}", built.workload, built.check, built.data, fs=case.fs[0])


def several() -> Iterator[Mended]:
    """The programs of corpus/several, with nothing mended."""
    for program in programs():
        with tempfile.TemporaryDirectory() as folder:
            built = program.build(Path(folder))
            yield tried(f"several/{program.name}", built.workload, built.check, built.data, **program.settings)


CORPORA = {"files": files, "memory": memory, "several": several}


def measure(names: Sequence[str] = ()) -> list[Row]:
    """The rows of the table: of each corpus, fixes that say verified and are gone."""
    rows = []
    for name in names or CORPORA:
        verified = gone = 0
        for found in CORPORA[name]():
            print(found.told(), flush=True)
            verified += found.verified
            gone += found.gone
        title = f"verified fixes of {name} that mend, put in by the tracer"
        rows.append(Row(title, gone, "fixes", "all that say verified", verified, None, "all", gone == verified))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what came out; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help=", ".join(CORPORA))
    rows = measure(parser.parse_args(arguments).corpora)
    for row in rows:
        print(f"{row.name}: {row.measured:.0f} of {row.compared:.0f}{'' if row.met else '  MISSED'}")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
