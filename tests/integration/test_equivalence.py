"""On states that equivalence does not run, the check says what equivalence says: random checks, and real ones."""

from __future__ import annotations

import random
import shlex
import subprocess
import sys
from collections.abc import Iterator, Set
from itertools import islice
from pathlib import Path

import pytest

from powercut import _engine
from powercut.image.digest import Digester
from powercut.native_programs import loads_tool, why_no_memory_tool
from powercut.oracle.check_command import check_environment
from powercut.settings import load_settings
from powercut.states.state import State
from powercut.states.strategies import queue
from powercut.states.timeline import Timeline
from powercut.testing.session import Session
from tests.integration.equivalence_kit import Comparison, compare
from tests.unit.plain_images import FILE, FOLDER, OTHER, SYMLINK, PlainImage, PlainTimeline, Thing, state

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus" / "store"))

import pmdk_programs
from harness import CORPUS, Case, build, cases, check_command, lmdb_check
from store_cases import Store

VIEWS, WHY_NOT = _engine.can_enter_view()
IMAGES = 70


class RandomTimeline(PlainTimeline):
    """Images that differ in a few places each, and words that differ now and then."""

    def acked(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        return b"line\n" * (point % 3 == 1)

    def sent(self, point: int, unsaid: Set[int] = frozenset()) -> bytes:
        return b"sent" if point % 5 == 1 else b""


def random_image(chance: random.Random) -> PlainImage:
    """One of many neighbours: each part is mostly as in the others."""

    def usual() -> bool:
        return chance.random() < 0.75

    image = PlainImage()
    image.add(1, 0, b"a", kind=FILE, content=b"content of a, long enough" if usual() else b"short")
    if usual():
        image.add(2, 0, b"b", kind=FILE, content=b"b" * (20 if usual() else 33), mode=0o644 if usual() else 0o600)
    if usual():
        image.add(3, 0, b"d", kind=FOLDER, mode=0o755)
        image.add(4, 3, b"x", kind=FILE, content=b"x in d" if usual() else bytes(50))
        if usual():
            image.add(5, 3, b"y", kind=FILE, xattrs={b"user.note": b"one" if usual() else b"two"})
    if usual():
        image.add(6, 0, b"l", kind=SYMLINK, mode=0o777, target=b"d")
    else:
        image.add(9, 0, b"l", kind=SYMLINK, mode=0o777, target=b"a")
    if not usual():
        image.things[0].entries[b"c"] = 1  # a second name
    elif usual():
        image.add(7, 0, b"c", kind=FILE, content=b"content of a, long enough")
    if not usual():
        image.things[8] = Thing(OTHER)
        image.things[0].entries[b"e"] = 8
    return image


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("reader") / "reader"
    source = Path(__file__).with_name("random_reader.c")
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", program, source], check=True)
    return program


@pytest.mark.parametrize("views", [True, False], ids=["view", "copy"])
def test_random_checks_say_what_the_tree_says(reader: Path, tmp_path: Path, views: bool) -> None:
    if views and not VIEWS:
        pytest.skip(WHY_NOT)
    data = tmp_path / "data"
    data.mkdir()
    total = Comparison(0, 0, [], [], [])
    for seed in range(12 if views else 4):
        chance = random.Random(seed)
        timeline = RandomTimeline([random_image(chance) for _ in range(IMAGES)])
        check = [str(reader), str(seed), str(3 + seed % 8)]
        one = compare(timeline, [state(number) for number in range(IMAGES)], check, data, views)
        assert not one.wrong, (seed, one.wrong)
        assert not one.not_understood, (seed, one.not_understood)
        assert not one.notes, (seed, one.notes)
        total.skipped += one.skipped
        total.ran += one.ran
    assert total.skipped > total.ran / 3, total


def recorded(folder: Path, data: Path, workload: list[str], **settings: str) -> Timeline:
    """The timeline of a workload on the default file system."""
    settings = load_settings(folder, {"dir": str(data), "output": str(folder / "out"), **settings})
    session = Session(settings, folder, lambda event: None)
    return session.timelines(session.record(workload, folder / "trace"))[0]


def representatives(timeline: Timeline) -> Iterator[State]:
    """The states that representative testing leaves: one of each image and what the program had said."""
    digester, seen = Digester(timeline), set()
    for _, one in queue(timeline, 0, ("representatives",)):
        key = (digester.digest(one), timeline.acked(one.point), timeline.sent(one.point))
        if key not in seen:
            seen.add(key)
            yield one


def compare_target(folder: Path, data: Path, workload: list[str], check: str, most: int | None = None) -> Comparison:
    timeline = recorded(folder, data, workload)
    return compare(timeline, list(islice(representatives(timeline), most)), shlex.split(check), data, VIEWS)


@pytest.mark.slow
def test_no_verdict_of_the_store_changes_and_half_of_its_states_need_no_run(built_store: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    store = Store(built_store)
    done = compare_target(tmp_path, data, store.workload(data, "small"), store.check)
    assert (done.wrong, done.not_understood, done.notes) == ([], [], [])
    assert done.skipped >= done.ran, done


@pytest.mark.slow
def test_no_verdict_of_a_store_with_a_mistake_changes(built_store: Path, tmp_path: Path) -> None:
    """Its first states, of which many fail."""
    data = tmp_path / "data"
    data.mkdir()
    store = Store(built_store, "manifest-unsynced")
    done = compare_target(tmp_path, data, store.workload(data, "small"), store.check, most=300)
    assert (done.wrong, done.not_understood, done.notes) == ([], [], [])
    assert done.skipped > 100, done


@pytest.mark.slow
def test_no_verdict_of_sqlite_changes_and_half_of_its_states_need_no_run(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    workload = [sys.executable, str(CORPUS / "real" / "sqlite_rows.py"), str(data), "DELETE", "FULL"]
    subprocess.run([*workload, "0"], check=True)
    done = compare_target(tmp_path, data, workload, check_command(CORPUS / "real" / "sqlite_check.py"))
    assert (done.wrong, done.not_understood, done.notes) == ([], [], [])
    assert done.skipped >= done.ran, done


@pytest.mark.slow
@pytest.mark.parametrize("closely", [False, True], ids=["pages", "words"])
def test_no_verdict_of_lmdb_which_maps_its_files_changes(tmp_path: Path, closely: bool) -> None:
    pytest.importorskip("lmdb")
    if closely and loads_tool() is None:
        pytest.skip(why_no_memory_tool())
    data = tmp_path / "data"
    data.mkdir()
    workload = [sys.executable, str(CORPUS / "real" / "lmdb_rows.py"), str(data), "sync"]
    subprocess.run([*workload, "0"], check=True)
    check = shlex.split(lmdb_check())
    timeline = recorded(tmp_path, data, [*workload, "9"])
    states = list(islice(representatives(timeline), 60 if closely else 120))
    done = compare(timeline, states, check, data, VIEWS, closely=closely)
    assert (done.wrong, done.not_understood, done.notes) == ([], [], [])
    assert done.skipped > (done.ran if closely else 3), done


@pytest.mark.slow
@pytest.mark.xdist_group("pmdk")  # one build for all
@pytest.mark.skipif(not pmdk_programs.available(), reason="libpmemobj-dev is not installed")
@pytest.mark.skipif(loads_tool() is None, reason=why_no_memory_tool() or "nothing is missing")
def test_no_verdict_of_a_pmdk_map_changes_and_half_of_its_states_need_no_run(built_pmdk: Path, tmp_path: Path) -> None:
    """A map whose transactions keep no snapshots: many of its first states fail."""
    data, commands = tmp_path / "data", tmp_path / "commands"
    data.mkdir()
    commands.write_text("i 10\nc 10\ni 20\nc 20\nr 10\nc 10\n")
    pmdk_programs.make_map(built_pmdk, data / "pool", "ctree")
    pmdk_programs.build_without_snapshots(tmp_path / "careless")
    program = [str(tmp_path / "careless"), "ctree", str(data / "pool"), str(commands)]
    workload = ["sh", str(pmdk_programs.PMDK / "mapcli.sh"), *program]
    timeline = recorded(tmp_path, data, workload, tracer="memory")
    check = [str(built_pmdk / "map_check"), "ctree", "pool", str(commands)]
    states = list(islice(representatives(timeline), 60))
    environment = check_environment(timeline)
    done = compare(timeline, states, check, data, VIEWS, closely=True, environment=environment)
    assert (done.wrong, done.not_understood, done.notes) == ([], [], [])
    assert done.skipped >= done.ran, done


@pytest.mark.parametrize("case", cases()[::3], ids=lambda case: case.name)
def test_no_verdict_of_the_corpus_changes(case: Case, tmp_path: Path) -> None:
    data = case.seed(tmp_path / "data")
    workload = [*build(case.source("buggy"), tmp_path), str(data)]
    done = compare_target(tmp_path, data, workload, check_command(case.check))
    assert (done.wrong, done.not_understood, done.notes) == ([], [], [])
