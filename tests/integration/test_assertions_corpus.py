"""The maps of corpus/assertions: nothing is reported on them, and each seeded mistake is found at its lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus" / "assertions"))

from assertion_cases import MAPS, SIZES, MapBug, build_maps, map_bugs, marked_lines
from harness import POWERCUT

from powercut import check_program
from powercut.assertions.check import Checked
from powercut.lint.misuse import Misuse

MARKED = marked_lines()
BUGS = [(bug, name) for bug in map_bugs() for name in bug.maps]
TABLE_5 = {"ordering", "writeback", "performance", "backup", "completion", "duplicate-log"}

pytestmark = pytest.mark.xdist_group("assertions-corpus")  # one build for all
every_bug = pytest.mark.parametrize(("bug", "name"), BUGS, ids=[f"{bug.name}-{name}" for bug, name in BUGS])


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_maps(tmp_path_factory.mktemp("maps"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_maps(tmp_path_factory.mktemp("plain"), checked=False)


def check(*words: object) -> Checked:
    checked = check_program([str(word) for word in words], quiet=True, timeout=60)
    assert checked.ending == ""
    return checked


def kinds(checked: Checked) -> set[str]:
    return {"/".join(filter(None, (finding.pattern, finding.why))) for finding in checked.findings}


def lines(finding: Misuse) -> set[tuple[str, int]]:
    return {(Path(place.file).name, place.line) for place in finding.locations if place.file and place.line}


def all_lines(checked: Checked) -> set[tuple[str, int]]:
    return set().union(*map(lines, checked.findings))


def test_cases_list_all_mistakes(program: Path) -> None:
    bugs = map_bugs()
    listed = subprocess.run([program, "bugs"], check=True, capture_output=True, text=True).stdout.split()
    assert [bug.name for bug in bugs] == listed
    assert len(bugs) >= 45
    assert {bug.group for bug in bugs} == TABLE_5
    for name in MAPS:
        assert sum(name in bug.maps for bug in bugs) >= 9, name


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MAPS)
def test_nothing_is_reported_on_the_correct_map(program: Path, name: str, size: int) -> None:
    for seed in ("1", "2"):
        checked = check(program, name, "--size", size, "--seed", seed, "--operations", 2000, "--keys", 200)
        assert checked.findings == []
        assert checked.operations > 10_000


@every_bug
def test_mistake_is_found_at_its_lines(program: Path, bug: MapBug, name: str) -> None:
    for size in (SIZES[0], SIZES[-1]):
        checked = check(program, name, "--bug", bug.name, "--size", size, "--operations", bug.operations)
        assert kinds(checked) == bug.kinds
        assert ("fail" if checked.failures else "warn") == bug.severity
        for finding in checked.findings:
            assert lines(finding) & MARKED[bug.name], finding.message
        assert MARKED[bug.name] <= all_lines(checked)


@pytest.mark.parametrize("name", MAPS)
def test_without_a_power_cut_every_mistake_is_invisible(plain: Path, name: str) -> None:
    """The map holds what it must hold: only a checker sees the mistake."""
    for bug in map_bugs():
        if name in bug.maps:
            done = subprocess.run([plain, name, "--bug", bug.name], capture_output=True, text=True)
            assert (done.returncode, done.stdout) == (0, "items 39\n"), bug.name


@pytest.mark.parametrize("name", [name for name in MAPS if name != "hashmap-atomic"])
@pytest.mark.parametrize("operations", [7, 40, 163])
def test_an_interrupted_transaction_is_taken_back(plain: Path, name: str, operations: int, tmp_path: Path) -> None:
    command = [plain, name, "--pool", tmp_path / "pool", "--stop-after", str(operations)]
    subprocess.run(command, check=True)
    done = subprocess.run([*command, "--recover"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("interrupted 1\nitems ")


def test_the_log_is_what_takes_it_back(plain: Path, tmp_path: Path) -> None:
    """With a change that is not logged the map is damaged: the mistakes are mistakes."""
    command = [plain, "ctree", "--pool", tmp_path / "pool", "--bug", "ctree-slot-unlogged"]
    command += ["--stop-after", "7"]
    subprocess.run(command, check=True)
    done = subprocess.run([*command, "--recover"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1][-17:]) == (1, "it should be gone")


def test_the_command_tells_it_by_its_exit_code(program: Path, tmp_path: Path) -> None:
    def run(*options: str) -> tuple[int, Counter[str]]:
        command = [POWERCUT, "check", "--json", "-", "--", program, "btree", "--size", "256", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        report = json.loads(done.stdout[done.stdout.index("{") :])
        return done.returncode, Counter(finding["pattern"] for finding in report["findings"])

    assert run() == (0, {})
    assert run("--bug", "btree-split-left-unlogged") == (1, {"missing-backup": 1})
    assert run("--bug", "btree-split-left-logged-twice") == (0, {"duplicate-log": 1})
