"""Kills and power cuts of a guarded service: its log never misleads.

The service is a stepper whose steps can be cut anywhere and are begun again. After a cut it is started under guard
again, runs to its end, and meets the fault that one of its steps made. Then of every word of its data the log must
tell what it tells after a run that was not cut: what it holds, what it held before, and which line wrote it. The plan
to heal it follows from that, and is compared as well.

By default some of the cuts are tried; with POWERCUT_SWEEP=1 all kills, the plan after each of them, and ten times as
many power cuts.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import powercut
from powercut.guard.log import RECORD, GuardLog
from powercut.guard.log_folder import nobody_writes
from powercut.guard.reclaim import reclaim_ended
from powercut.heal.copies import recovery
from powercut.runs.store import SavedRun
from tests.needs import needs_memory_tool, needs_pmdk

from .guard_cuts_kit import NOBODY, Kill, NormalForm, PlanForm, Stepper, build, differing, plan_form, same_steps

SWEEP = bool(os.environ.get("POWERCUT_SWEEP"))
KILLS = {"before": True, "after": True, "middle": True, "before the guard": False}
TRIED = 5  # of each kind of kill
STATES = 200 if SWEEP else 16  # of each kind of power cut
BUDGET = "60m" if SWEEP else "2m"
FIRST, LAST = 4, 9  # the steps that power cuts meet: one of each kind, and the one that goes wrong
UNDER_WAY = 4096  # bytes at most in the lines of one transaction, and those that libpmemobj never makes durable

pytestmark = [needs_pmdk, needs_memory_tool]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("stepper"))


@pytest.fixture(autouse=True, scope="module")
def persistent_memory() -> None:
    os.environ["PMEM_IS_PMEM_FORCE"] = "1"


@pytest.fixture(scope="module")
def uncut(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Stepper:
    stepper = Stepper(programs, tmp_path_factory.mktemp("uncut"))
    stepper.finish()
    return stepper


@pytest.fixture(scope="module")
def truth(uncut: Stepper) -> NormalForm:
    return NormalForm(uncut)


@pytest.fixture(scope="module")
def true_plan(uncut: Stepper) -> PlanForm:
    return planned(uncut)


def planned(stepper: Stepper) -> PlanForm:
    session = stepper.session()
    return plan_form(session, session.plan()[0])


def calls(programs: Path, folder: Path, behind: bool) -> range:
    folder.mkdir()
    return range(Stepper(programs, folder).calls(folder / "count", behind))


@pytest.mark.parametrize("kind", KILLS)
def test_a_log_tells_the_same_wherever_its_service_was_killed(
    kind: str, programs: Path, truth: NormalForm, true_plan: PlanForm, tmp_path: Path
) -> None:
    behind = KILLS[kind]
    all_calls = calls(programs, tmp_path / "counted", behind)
    tried = all_calls if SWEEP else all_calls[sum(map(ord, kind)) % 40 :: len(all_calls) // TRIED]
    for number in tried:
        (tmp_path / str(number)).mkdir()
        stepper, kill = Stepper(programs, tmp_path / str(number)), Kill(number, kind.split()[0], behind)
        assert stepper.kill(kill) == -9
        unexplained = sum(len(data) for _, data in stepper.differences())
        assert unexplained <= UNDER_WAY or not stepper.finish(), kill
        stepper.finish()
        assert not differing(NormalForm(stepper), truth), kill
        if SWEEP or number == tried[-1]:
            assert same_steps(planned(stepper), true_plan), kill
        stepper.remove()


def test_after_many_kills_the_plan_is_the_same_and_heals(
    programs: Path, truth: NormalForm, true_plan: PlanForm, tmp_path: Path
) -> None:
    """Killed again and again, a few calls further each time, in all that it does and in its recoveries."""
    stepper = Stepper(programs, tmp_path)
    subprocess.run(stepper.command("work", 1), env=stepper.environment(), check=True)
    whens = 3 * ("before", "after", "middle")
    assert {stepper.kill(Kill(3 + 4 * number, when)) for number, when in enumerate(whens)} == {-9}
    stepper.finish()
    assert not differing(NormalForm(stepper), truth, kills=len(whens))
    session = stepper.session()
    plan, _ = session.plan()
    assert plan_form(session, plan) == true_plan
    healing = session.heal(plan)
    assert healing is not None and healing.mode == "purge" and len(healing.records) == 1
    session.change(healing)
    assert subprocess.run(stepper.command("check"), check=False).returncode == 0


def test_a_log_that_is_reclaimed_between_kills_names_the_same_lines(
    programs: Path, truth: NormalForm, tmp_path: Path
) -> None:
    """What came true and what did not, and who wrote what: reclaiming the log changes nothing of that."""
    stepper = Stepper(programs, tmp_path)
    subprocess.run(stepper.command("work", 1), env=stepper.environment(), check=True)
    for number, when in enumerate(2 * ("before", "after", "middle")):
        assert stepper.kill(Kill(3 + 6 * number, when)) == -9
        with nobody_writes(stepper.log):
            assert reclaim_ended(stepper.log, floor=0) is not None
    stepper.finish()
    assert NormalForm(stepper).words == truth.words
    with nobody_writes(stepper.log):
        assert reclaim_ended(stepper.log, floor=0) is not None
    assert NormalForm(stepper).words == truth.words


def test_a_transaction_that_a_fault_cut_short_does_not_hinder_healing(
    programs: Path, true_plan: PlanForm, tmp_path: Path
) -> None:
    """Its undo log would be written over what healing took back, and hide whose data they are."""
    in_last_transaction = calls(programs, tmp_path / "counted", True)[-15]
    stepper = Stepper(programs, tmp_path)
    assert stepper.kill(Kill(in_last_transaction, "after")) == -9
    assert recovery(stepper.history), "the kill was in a transaction"
    session = stepper.session()
    plan, _ = session.plan()
    assert plan_form(session, plan)[0] == true_plan[0]
    healing = session.heal(plan)
    assert healing is not None and len(healing.records) == 1
    session.change(healing)
    assert subprocess.run(stepper.command("check"), check=False).returncode == 0


class PowerCuts:
    """A stepper whose log and pool lie in one folder, recorded under guard; every crash state is gone on with."""

    def __init__(self, programs: Path, folder: Path, preload: str = "") -> None:
        self.data, self.final = folder / "data", folder / "final"
        self.stepper = Stepper(programs, folder, log=self.data / "log")
        self._programs, self._preload = programs, preload
        environment = self.stepper.environment()
        subprocess.run(self.stepper.command("work", FIRST), env=environment, check=True)

    def explore(self, check: object) -> SavedRun:
        """Record the steps in question, and judge what power cuts leave."""
        given = self.stepper.environment()
        script = f"""
            export POWERCUT_GUARD_KNOWN="1 $(stat -c '%d %i' "$1")"
            LD_PRELOAD='{given["LD_PRELOAD"].split()[0]} {self._preload}' "$0" "$1" work {LAST}
            cp -r "$2" "$3"
        """
        names = (self._programs / "stepper", self.stepper.pool, self.stepper.log, self.final)
        passed = [f"{name}={given[name]}" for name in ("POWERCUT_GUARD", "POWERCUT_GUARD_NEXT")]
        workload = ["env", *passed, "sh", "-c", script, *map(str, names)]
        options = {"tracer": "memory", "memory": "px86", "max_states": STATES, "budget": BUDGET, "timeout": 60}
        return powercut.explore(workload, check, dir=self.data, cache=False, lint=False, **options)

    def go_on(self, folder: Path) -> NormalForm:
        """To the end, from a crash state; no record of it may tell what was never written."""
        assert folder == self.data, "a check sees the folder in its own place"
        assert records(self.stepper.log) <= records(self.final)
        self.stepper.finish()
        assert sum(len(data) for _, data in self.stepper.differences()) <= UNDER_WAY
        return NormalForm(self.stepper)


def records(folder: Path) -> set[bytes]:
    log = GuardLog(folder)
    return {head.tobytes() + log.data(i) for i, head in enumerate(log.records.view(np.dtype(("V", RECORD.itemsize))))}


def test_a_log_in_persistent_memory_tells_the_same_wherever_the_power_was_cut(
    programs: Path, truth: NormalForm, tmp_path: Path
) -> None:
    cuts = PowerCuts(programs, tmp_path)

    def check(folder: Path) -> None:
        assert not differing(cuts.go_on(folder), truth)

    run = cuts.explore(check)
    assert not run.findings and run.states["tested"] >= STATES, run.findings


def test_a_log_that_a_power_cut_takes_the_end_of_names_no_wrong_line(
    programs: Path, truth: NormalForm, tmp_path: Path
) -> None:
    """The pool is persistent memory, the log on a disk: of what is lost it is said that nobody knows who wrote it."""
    cuts = PowerCuts(programs, tmp_path, preload=str(programs / "disk_log.so"))

    def check(folder: Path) -> None:
        told = cuts.go_on(folder)
        assert told.values == truth.values
        wrong = {name: line for name, line in told.lines.items() if line not in (truth.lines[name], *NOBODY)}
        assert not wrong

    run = cuts.explore(check)
    assert not run.findings and run.states["tested"] >= STATES, run.findings
