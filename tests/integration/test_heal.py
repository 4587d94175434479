"""Healing on a real service: what led to the fault is taken back and nothing else, first on copies, with a way back."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from harness import POWERCUT

from powercut.commands.heal import _in_vain
from powercut.commands.heal import command as heal_command
from powercut.errors import UsageError
from powercut.guard.history import History
from powercut.guard.log import GuardLog
from powercut.guard.log_folder import nobody_writes
from powercut.guard.reclaim import reclaim_ended
from powercut.guard.supervise import Supervisor, Watch
from powercut.heal.changes import change, undo
from powercut.heal.reversion import Patch, patches
from powercut.heal.session import Restart, Session
from powercut.report.heal import plan_text
from tests.needs import needs_memory_tool, needs_pmdk

SOURCE = Path(__file__).parents[1] / "guard_programs" / "service.c"

pytestmark = [needs_pmdk, needs_memory_tool]


class Sick:
    """A service with a hard fault: its pool, its log, and what it said."""

    def __init__(self, program: Path, folder: Path) -> None:
        (folder / "data").mkdir()
        self.program, self.pool, self.log = program, folder / "data" / "a pool", folder / "log"
        self.said: list[str] = []
        self.guard("rounds", 40, 3)

    def guard(self, *words: object) -> bool:
        command = [str(self.program), str(self.pool), *map(str, words)]
        return Supervisor(command, self.log, [], Watch(), self.said.append).run(restarts=1)[1]

    def session(self, *words: object, pool: Path | None = None) -> Session:
        restart = Restart([str(self.program), str(self.pool), *map(str, words)], self.pool.parent, timeout=2)
        return Session(self.log, pool, restart, self.said.append)

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), str(self.pool), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)


@pytest.fixture
def sick(service: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sick:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    return Sick(service, tmp_path)


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if mark in line)


@pytest.mark.parametrize("how", ["fault", "spin"])
def test_one_bad_update_is_found_and_taken_back(sick: Sick, how: str) -> None:
    before = sick.run("count").stdout
    if how == "fault":
        assert sick.guard("fault")
    else:
        sick.guard("spin")
    session = sick.session("count")
    plan, first = session.plan()
    assert first.how == ("signaled" if how == "fault" else "hung")
    place = session.place(plan.steps[0].cause)
    assert place is not None and place.line == line_of("SITE: bad")
    untouched = sick.pool.read_bytes()
    healing = session.heal(plan)
    assert healing is not None and healing.mode == "purge" and len(healing.records) == 1
    assert sick.pool.read_bytes() == untouched, "only copies were changed"
    way_back = session.change(healing)
    assert sick.run("count").stdout == before, "nothing else was taken back"
    undo(way_back)
    assert sick.pool.read_bytes()[:3] == untouched[:3]
    if how == "fault":
        assert sick.run("count").returncode == -11


def test_reports_tell_what_was_done(
    sick: Sick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sick.guard("fault")
    monkeypatch.chdir(tmp_path)
    restart = ["--", str(sick.program), str(sick.pool), "count"]
    page = tmp_path / "a page.html"
    assert heal_command.main(["--log", "log", "--plan", "--json", "-", *restart], standalone_mode=False) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["outcome"] == "planned" and planned["healing"] is None and planned["undo"] is None
    assert planned["failure"] == "was killed by signal 11" and len(planned["attempts"]) == 1
    words = ["--log", "log", "--yes", "--json", "healed.json", "--html", str(page), *restart]
    assert heal_command.main(words, standalone_mode=False) == 0
    healed = json.loads(Path("healed.json").read_text())
    first = healed["steps"][0]
    assert first["taken_back"] and first["location"]["line"] == line_of("SITE: bad") and first["bytes"] == 8
    assert [attempt["well"] for attempt in healed["attempts"]] == [False, True]
    assert (healed["outcome"], healed["healing"]["updates"]) == ("healed", 1)
    assert Path(healed["undo"]).exists() and "undone" in page.read_text()


def test_where_nobody_can_answer_nothing_is_changed(sick: Sick, tmp_path: Path) -> None:
    sick.guard("fault")
    before = sick.pool.read_bytes()
    words = ["--log", str(sick.log), "--json", str(tmp_path / "told.json"), "--"]
    done = CliRunner().invoke(heal_command, [*words, str(sick.program), str(sick.pool), "count"], standalone_mode=False)
    assert done.return_value == 1
    assert json.loads((tmp_path / "told.json").read_text())["outcome"] == "declined"
    assert sick.pool.read_bytes() == before


def test_leaks_have_no_plan_to_report(sick: Sick) -> None:
    with pytest.raises(click.UsageError):
        heal_command.main(["--log", str(sick.log), "--leaks", "--json", "-", "--", "true"], standalone_mode=False)


def test_a_log_that_was_reclaimed_heals_as_well(sick: Sick) -> None:
    before = sick.run("count").stdout
    assert sick.guard("fault")
    with nobody_writes(sick.log):
        reclaimed = reclaim_ended(sick.log, floor=0)
        assert reclaimed is not None and reclaimed.after < reclaimed.before / 10
    session = sick.session("count")
    plan, _ = session.plan()
    place = session.place(plan.steps[0].cause)
    assert place is not None and place.line == line_of("SITE: bad")
    healing = session.heal(plan)
    assert healing is not None and len(healing.records) == 1
    session.change(healing)
    assert sick.run("count").stdout == before


def test_a_service_that_is_well_is_left_alone(sick: Sick) -> None:
    with pytest.raises(UsageError) as raised:
        sick.session("count").plan()
    assert raised.value.slug == "nothing-to-heal"


def test_a_fault_that_is_not_the_pools_gives_an_empty_plan(sick: Sick) -> None:
    plan, first = sick.session("nonsense").plan()
    assert first.code == 7
    assert not plan.steps


def test_a_log_of_another_pool_is_refused(sick: Sick) -> None:
    sick.pool.unlink()
    sick.run("rounds", 1, 1)
    with pytest.raises(UsageError) as raised:
        sick.session("count")
    assert raised.value.slug == "guard-other-pool"


@pytest.mark.parametrize(
    ("lost", "cut"), [("1.segment", False), ("1.segment", True), ("2.segment", True), ("pool-1.base", False)]
)
def test_a_part_of_a_log_is_refused(sick: Sick, lost: str, cut: bool) -> None:
    sick.guard("count")
    before, path = sick.pool.read_bytes(), sick.log / lost
    if cut:
        os.truncate(path, path.stat().st_size // 2)
    else:
        path.unlink()
    with pytest.raises(UsageError) as raised:
        sick.session("count")
    assert (raised.value.slug, lost.partition(".")[0] in str(raised.value)) == ("guard-log-short", True)
    assert sick.pool.read_bytes() == before


def test_a_running_service_is_not_healed(sick: Sick) -> None:
    with nobody_writes(sick.log), pytest.raises(UsageError) as raised, nobody_writes(sick.log):
        pass
    assert raised.value.slug == "guard-running"


def test_what_is_no_log_is_not_healed(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised, nobody_writes(tmp_path / "nothing"):
        pass
    assert raised.value.slug == "no-guard-log"


def test_undoing_needs_the_file_alone(sick: Sick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sick.pool.read_bytes()
    way_back = change(sick.log, sick.pool, [Patch(1 << 20, before[1 << 20 : (1 << 20) + 4], b"heal")])
    monkeypatch.chdir(tmp_path)
    assert heal_command.main(["--undo", str(way_back)], standalone_mode=False) == 0
    assert sick.pool.read_bytes() == before


def test_a_pool_that_changed_since_is_not_undone(sick: Sick) -> None:
    sick.guard("fault")
    session = sick.session("count")
    way_back = session.change(session.heal(session.plan()[0]))
    sick.run("fault")
    content = sick.pool.read_bytes()
    with pytest.raises(UsageError) as raised:
        undo(way_back)
    assert raised.value.slug == "heal-changed"
    assert sick.pool.read_bytes() == content


def test_taking_everything_back_gives_the_base(sick: Sick) -> None:
    log = GuardLog(sick.log)
    history = History(log, log.pools[1])
    content = bytearray(sick.pool.read_bytes())
    for patch in patches(history, sick.pool, frozenset(history.changes.tolist())):
        content[patch.offset : patch.offset + len(patch.new)] = patch.new
    base = history.pool.base.read_bytes()
    logged = [i for i in range(0, len(base), 4096) if len(history.overlapping(i, i + 1))]
    assert logged
    assert all(content[i] == base[i] for i in logged)


def restarted_by(sick: Sick, *lines: str) -> list[str]:
    """A command that runs a script in which the service's program and pool are named."""
    script = sick.pool.parent.parent / "restart.sh"
    script.write_text("\n".join(("#!/bin/sh", f"service='{sick.program}' pool='{sick.pool}'", *lines, "")))
    script.chmod(0o755)
    return [str(script)]


def test_a_later_process_that_fails_for_another_reason_is_not_the_pools_fault(sick: Sick) -> None:
    """The service has read its pool and has ended well; then something else of the restart does not work."""
    command = restarted_by(sick, '"$service" "$pool" count || exit 5', "ls /no/such/file")
    session = Session(sick.log, None, Restart(command, sick.pool.parent, timeout=10), sick.said.append)
    plan, first = session.plan()
    assert first.code == 2 and plan.later == "ls"
    assert not plan.steps and len(session.attempts) <= 3
    text = plan_text(session, plan, first)
    assert "ls failed later" in text and "the pool is not the cause" in text


def test_where_nothing_helps_a_later_process_that_failed_is_named_again() -> None:
    assert _in_vain(None, over=True) == "nothing helped before --budget was over. The pool is unchanged. [heal-failed]"
    assert "unchanged. ls failed after the process that used the pool had ended well" in _in_vain("ls", over=False)


def test_a_search_that_is_ended_leaves_its_report(sick: Sick, tmp_path: Path) -> None:
    """The restart works without the bad update, and then takes its time: SIGTERM comes in the middle of that."""
    sick.guard("fault")
    command = restarted_by(sick, '"$service" "$pool" count || exit 9', f"touch '{tmp_path / 'works'}'", "sleep 60")
    report = tmp_path / "report.json"
    before = sick.pool.read_bytes()
    words = ["heal", "--log", sick.log, "--yes", "--timeout", "60", "--json", report, "--", *command]
    heal = subprocess.Popen([POWERCUT, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not (tmp_path / "works").exists():
        assert time.monotonic() < end and heal.poll() is None
        time.sleep(0.05)
    heal.terminate()
    assert heal.wait() == 130
    assert json.loads(report.read_text())["outcome"] == "interrupted"
    assert sick.pool.read_bytes() == before
