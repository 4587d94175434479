"""Run powercut on the programs of the survey, as their users would, and compare what it finds with what is expected.

python -m survey.run [NAME ...] [--budget 60s]: all programs, or those named. Each run leaves its report, its output and
its HTML page in build/survey/NAME. A run of all of them writes docs/survey.md. Exit status 1: something differs.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from survey.comparison import difference, identity, is_cut_short
from survey.installing import how_to_install, install
from survey.page import write_page
from survey.program import PROGRAMS, WORK, Malformed, Program, all_programs

POWERCUT = Path(sys.executable).with_name("powercut")
AGREED = (0, 1)  # powercut test: nothing found, or findings
FAR_TOO_LONG = 900  # seconds for one program


@dataclass(frozen=True)
class Result:
    """One run of one program, as build/survey/NAME/result.json keeps it."""

    name: str
    version: str
    seconds: float
    first: float | None  # seconds until the first finding was told
    states: dict[str, Any]
    found: list[dict[str, str]]  # identity, message, id and models of each finding
    differs: list[str]
    failure: str  # what powercut or the workload said if there is no report


def survey(program: Program, version: str, here: Path) -> Result:
    """Run powercut on a program: its data folder is made anew, and only `here` is written."""
    shutil.rmtree(here, ignore_errors=True)
    (here / "data").mkdir(parents=True)
    if program.prepare:
        done = subprocess.run(program.prepare, cwd=here, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            return Result(program.name, version, 0.0, None, {}, [], [], f"prepare: {done.stdout}{done.stderr}".strip())
    command = [str(POWERCUT), "test", "--dir", "data", "--json", "report.json", "--html", "report.html"]
    command += ["--budget", program.budget, "--check", shlex.join(program.check), *program.options]
    started = time.monotonic()
    code, first = run_and_listen([*command, "--", *program.workload], here)
    seconds = time.monotonic() - started
    if code not in AGREED or not (here / "report.json").exists():
        told = (here / "progress.txt").read_text(errors="replace").strip()
        return Result(program.name, version, seconds, first, {}, [], [], f"powercut ended with {code}: {told}")
    report = json.loads((here / "report.json").read_text())
    found = [
        {
            "what": identity(finding, program.random),
            "message": finding["message"],
            "id": finding["id"],
            "models": ", ".join(finding["models"]),
        }
        for finding in report["findings"]
        if not is_cut_short(finding)
    ]
    differs = difference((one["what"] for one in found), program.findings)
    differs += [f"+ not enough time to explain: {one['message']}" for one in report["findings"] if is_cut_short(one)]
    if unexplained := report["states"]["unexplained"]:
        differs.append(f"+ {unexplained} failing states that no finding explains")
    return Result(program.name, version, seconds, first, report["states"], found, differs, "")


def run_and_listen(command: list[str], here: Path) -> tuple[int, float | None]:
    """Run powercut with its output in files; its exit status, and when it told of its first finding."""
    started, first = time.monotonic(), None
    with (
        (here / "output.txt").open("w") as output,
        (here / "progress.txt").open("w") as progress,
        subprocess.Popen(command, cwd=here, stdout=output, stderr=subprocess.PIPE, text=True) as running,
    ):
        assert running.stderr is not None
        for line in running.stderr:
            progress.write(line)
            if first is None and line.startswith("powercut: finding "):
                first = time.monotonic() - started
        return running.wait(FAR_TOO_LONG), first


def tell(program: Program, result: Result) -> None:
    """One line for a program, and the difference, if there is one, below it."""
    judged = "" if result.version == program.judged else f" (judged with {program.judged})"
    if result.failure:
        print(f"FAILED  {program.name} {result.version}: {result.failure}", flush=True)
        return
    word = "differs" if result.differs else "same"
    states = result.states
    seen = states["tested"] + states["known"] + states["equal"] + states["equivalent"]
    print(
        f"{word:8}{program.name}: {result.version}{judged}, {len(result.found)} findings, "
        f"{seen} states{'' if states['exhausted'] else ' and not all'}, {result.seconds:.1f} s",
        flush=True,
    )
    for line in result.differs:
        print("        " + line, flush=True)


def run_all(programs: list[Program], work: Path) -> bool:
    """Run programs one after the other; whether all that are installed did what is expected."""
    good = True
    for program in programs:
        version = program.version()
        if version is None:
            print(f"skipped {program.name}: not installed ({how_to_install(program)})", flush=True)
            continue
        result = survey(program, version, work / program.name)
        (work / program.name / "result.json").write_text(json.dumps(asdict(result), indent=1))
        tell(program, result)
        good = good and not result.differs and not result.failure
    return good


def main() -> int:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; default: all")
    parser.add_argument("--budget", default="60s", help="for each program that does not say its own (default 60s)")
    parser.add_argument("--install", action="store_true", help="first install what they need (of Debian's, if root)")
    parser.add_argument("--work", type=Path, default=WORK, help="where runs leave their folders (build/survey)")
    parser.add_argument("--page", action="store_true", help="write docs/survey.md from the last run of each program")
    given = parser.parse_args()
    try:
        programs = all_programs(given.budget)
    except Malformed as error:
        print(f"survey: {error}", file=sys.stderr)
        return 2
    if unknown := set(given.names) - {program.name for program in programs}:
        print(f"survey: no such program: {', '.join(sorted(unknown))}; see {PROGRAMS}", file=sys.stderr)
        return 2
    if given.install:
        install(one for one in programs if not given.names or one.name in given.names)
        programs = all_programs(given.budget)  # {python} is another now
    only_page = given.page and not given.names
    good = (
        True
        if only_page
        else run_all([one for one in programs if not given.names or one.name in given.names], given.work.resolve())
    )
    if given.page or not given.names:
        write_page(programs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
