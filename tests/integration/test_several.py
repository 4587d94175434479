"""Every program of corpus/several: each mistake is a finding of its own, whichever others are there.

What is found of a program is asked for once; all tests of a program run in one worker.
"""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, combinations
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from harness import POWERCUT
from several_cases import Judged, Program, judge, mending, programs, search

from powercut.findings.baseline import Baseline, Known
from powercut.native_programs import why_no_memory_tool
from powercut.runs.store import SavedRun
from powercut.testing.run_figures import exit_code
from tests.needs import HAS_PMDK

# The first mistake is mended, then all others: in the same helper, on the same line, in the same file, in threads, in
# mapped files and persistent memory. These stand for the others: bench/several.py mends each mistake of all programs.
MENDED_IN_PART = (
    *("append-loop", "deletes", "five", "library-and-own", "mapped-table", "one-print-two"),
    *("pm-four", "pm-list", "recovery-dies", "same-file", "save-helper", "temp-names", "threads"),
)
NOTHING = ""
ON_THE_COMMAND_LINE = ("deletes", "one-print-two")


def _parameter(program: Program) -> object:
    return pytest.param(program, id=program.name, marks=pytest.mark.xdist_group(f"several-{program.name}"))


every_program = pytest.mark.parametrize("program", [_parameter(program) for program in programs()])
third_programs = pytest.mark.parametrize("program", [_parameter(program) for program in programs()[::3]])
some_programs = pytest.mark.parametrize("program", [_parameter(program) for program in programs(MENDED_IN_PART)])
two_programs = pytest.mark.parametrize("program", [_parameter(program) for program in programs(ON_THE_COMMAND_LINE)])


@pytest.fixture(autouse=True)
def needs(program: Program) -> None:
    """Skip what needs something that is not there."""
    if program.libraries and not HAS_PMDK:
        pytest.skip("libpmemobj-dev is not installed")
    if program.memory and why_no_memory_tool():
        pytest.skip(why_no_memory_tool() or "")
    if program.language == "javascript" and shutil.which("node") is None:
        pytest.skip("Node is not installed")


@cache
def found(name: str, mended: str) -> SavedRun:
    """What is found of a program with some mistakes mended."""
    (program,) = programs([name])
    return search(program, mended)


@cache
def judged(name: str, mended: str) -> Judged:
    """The same, by letters."""
    (program,) = programs([name])
    return judge(program, found(name, mended), [letter for letter in program.letters if letter not in mended])


def ids(name: str, mended: str) -> dict[str, str]:
    """The ids of the mistakes that have one finding."""
    return {letter: finding.id for letter, finding in judged(name, mended).own.items()}


def subsets(letters: Iterable[str]) -> Iterator[str]:
    """All of them, from none to all."""
    some = list(letters)
    sizes = range(len(some) + 1)
    return map("".join, chain.from_iterable(combinations(some, size) for size in sizes))


def baseline_of(known: Iterable[str]) -> Baseline:
    """A baseline with some ids."""
    return Baseline(Path("baseline.toml"), [Known(id, "known") for id in known])


@every_program
def test_every_mistake_is_a_finding_of_its_own(program: Program) -> None:
    messages = [finding.message for finding in found(program.name, NOTHING).findings]
    assert judged(program.name, NOTHING).verdict == "OK", messages


@third_programs
def test_nothing_is_found_when_all_are_mended(program: Program) -> None:
    run = found(program.name, program.letters)
    assert [finding.message for finding in run.findings] == []
    assert run.states["unexplained"] == 0
    assert run.states["exhausted"] or run.states["tested"] >= program.settings["max_states"]


@every_program
def test_a_baseline_hides_what_is_in_it_and_nothing_else(program: Program) -> None:
    by_letter = ids(program.name, NOTHING)
    for known in subsets(program.letters):
        run = copy.deepcopy(found(program.name, NOTHING))
        baseline_of(by_letter[letter] for letter in known if letter in by_letter).mark(run.findings)
        new = {letter for finding in run.new_findings for letter in program.letters_of(finding)}
        assert new == set(program.letters) - set(known)
        assert exit_code(run) == (0 if known == program.letters else 1)


@some_programs
def test_mending_some_leaves_the_others_with_their_ids(
    program: Program, record_property: Callable[[str, object], None]
) -> None:
    """With a baseline of the mended ones, the run still fails for the others; a verified fix does what it says."""
    before = judged(program.name, NOTHING)
    first, *others = program.letters
    verified = 0
    for mended in (first, "".join(others)):
        now = copy.deepcopy(found(program.name, mended))
        left = {letter: id for letter, id in ids(program.name, NOTHING).items() if letter not in mended}
        assert ids(program.name, mended) == left, f"with {mended} mended"
        baseline_of(before.own[letter].id for letter in mended).mark(now.findings)
        assert exit_code(now) == 1
        assert {finding.id for finding in now.new_findings} == set(left.values()), f"with {mended} mended"
        fixes = [before.own[letter] for letter in mended]
        tried = [finding.id for finding in fixes if finding.fix is not None and finding.fix.verified]
        assert not {finding.id for finding in now.findings}.intersection(tried)
        verified += len(tried)
    record_property("verified fixes that were tried", verified)
    print(f"{program.name}: {verified} verified fixes were tried")


@two_programs
def test_baseline_on_the_command_line(program: Program, tmp_path: Path) -> None:
    built = program.build(tmp_path)
    baseline, report = tmp_path / "known.toml", tmp_path / "report.json"
    command = [
        str(POWERCUT),
        "test",
        "--dir",
        str(built.data),
        "--check",
        built.check,
        "--json",
        str(report),
        "--no-lint",
    ]

    def run(*options: str) -> tuple[int, set[str], set[str]]:
        with mending(""):
            done = subprocess.run([*command, *options, "--", *built.workload], cwd=tmp_path, capture_output=True)
        findings = json.loads(report.read_text())["findings"]
        new = {finding["id"] for finding in findings if finding["known"] is None}
        return done.returncode, new, {finding["id"] for finding in findings}

    code, new, every = run()
    assert (code, len(new), new) == (1, len(program.letters), every)
    last = max(every)
    baseline.write_text(baseline_of(every - {last}).text())
    assert run("--baseline", str(baseline)) == (1, {last}, every)
    baseline.write_text(baseline_of(every).text())
    assert run("--baseline", str(baseline)) == (0, set(), every)
