"""Leaks on a real service: what its recovery finds in whatever way is none, and what it lost is listed and freed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from powercut.commands.heal import command as heal_command
from powercut.errors import UsageError
from powercut.guard.supervise import Supervisor, Watch
from powercut.heal.changes import undo
from powercut.heal.leaks import Rule
from powercut.heal.objects import list_objects
from powercut.heal.session import Restart, Session
from powercut.printable import counted
from tests.needs import needs_memory_tool, needs_pmdk

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "guard_programs" / "finder.c"
COUNT = 5  # objects that it finds by type, and as many by number
KNOWN = 1 + COUNT + COUNT + 1 + 2  # by path, by type, by number, behind one of a type, touched otherwise

pytestmark = [needs_pmdk, needs_memory_tool]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("leaks") / "finder"
    command = ["gcc", "-g", "-O1", f"-I{ROOT}/native/runtime/include", "-o", program, SOURCE, "-lpmemobj", "-lpmem"]
    subprocess.run(command, check=True)
    return program


class Finder:
    """A service that has lost one object, under guard."""

    def __init__(self, program: Path, folder: Path) -> None:
        (folder / "data").mkdir()
        self.program, self.pool, self.log = program, folder / "data" / "ein Pool", folder / "log"
        self.said: list[str] = []
        Supervisor([str(program), str(self.pool), "fill"], self.log, [], Watch(), print).run(restarts=0)

    def session(self, how: str) -> Session:
        restart = Restart([str(self.program), str(self.pool), how], self.pool.parent, timeout=5)
        return Session(self.log, None, restart, self.said.append)


@pytest.fixture
def finder(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finder:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    return Finder(program, tmp_path)


@pytest.mark.parametrize("how", ["recover", "mark"])
def test_only_what_is_lost_is_listed_with_the_line_that_allocated_it(finder: Finder, how: str) -> None:
    """With marks, what is touched after the recovery tells nothing: `mark` looks at the lost object in the end."""
    session = finder.session(how)
    (leak,) = session.leaks()
    place = session.place(leak.record)
    assert place is not None and place.line is not None
    assert "SITE: lost" in SOURCE.read_text().splitlines()[place.line - 1]
    when = "between pc_recover_begin and pc_recover_end" if how == "mark" else "in total"
    touched = KNOWN - 2  # neither what is known by a path, nor what is behind one
    said = f"the restarted service exited with status 0; {when} it touched {touched} of {KNOWN + 1} objects"
    assert finder.said == [said]


def test_what_leaked_is_freed_and_comes_back(finder: Finder) -> None:
    session = finder.session("recover")
    attempt, changes = session.free(leaks := session.leaks())
    assert attempt.healed
    before = finder.pool.read_bytes()
    way_back = session.write(changes)
    copy = shutil.copyfile(finder.pool, finder.log.parent / "copy")  # libpmemobj writes into what it opens
    left = [offset for offset, _ in list_objects(copy)[1:]]
    assert len(left) == KNOWN and leaks[0].offset not in left
    assert finder.session("recover").leaks() == []
    undo(way_back)
    assert finder.pool.read_bytes() == before


def test_if_asked_for_all_that_is_not_touched_is_listed(finder: Finder) -> None:
    leaks = finder.session("mark").leaks(Rule.TOUCHES)
    assert len(leaks) == 3, "the lost one, and two that only paths lead to"


def test_what_pmdk_touches_for_its_own_use_does_not_count(finder: Finder) -> None:
    """And a restart that touches nothing itself never makes leaks of all objects."""
    session = finder.session("snapshot")
    assert len(session.leaks()) == KNOWN, "paths alone are left, and one object has one"
    with pytest.raises(UsageError, match="touches no object") as raised:
        session.leaks(Rule.TOUCHES)
    assert raised.value.slug == "nothing-touched"


@pytest.mark.parametrize(("options", "listed"), [(["--leaks"], 1), (["--leaks", "--untouched"], 3)])
def test_the_command_lists_leaks(
    finder: Finder, capsys: pytest.CaptureFixture[str], options: list[str], listed: int
) -> None:
    arguments = ["--log", str(finder.log), *options, "--plan", "--", str(finder.program), str(finder.pool), "recover"]
    heal_command(arguments, standalone_mode=False)
    assert f"{counted(listed, 'object')} of {finder.pool}: allocated, but not reachable" in capsys.readouterr().out
