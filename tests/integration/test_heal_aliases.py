"""Of many records that one line wrote, the bad ones are found by halving; what refers to an object goes with it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from powercut.guard.supervise import Supervisor, Watch
from powercut.heal.session import Restart, Session
from tests.needs import needs_memory_tool, needs_pmdk

SOURCE = Path(__file__).parents[1] / "guard_programs" / "ledger.c"
BAD, GOOD = 1000, 7

pytestmark = [needs_pmdk, needs_memory_tool]


class Ledger:
    """A ledger under guard."""

    def __init__(self, program: Path, folder: Path) -> None:
        (folder / "data").mkdir()
        self.pool, self.log = folder / "data" / "pool", folder / "log"
        self._command = [str(program), str(self.pool)]
        self.said: list[str] = []

    def guard(self, *words: object) -> None:
        Supervisor([*self._command, *map(str, words)], self.log, [], Watch(), self.said.append).run(restarts=0)

    def session(self, **options: Any) -> Session:
        restart = Restart([*self._command, "check"], self.pool.parent, timeout=5)
        return Session(self.log, None, restart, self.said.append, ("purge",), **options)

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self._command, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("ledger") / "ledger"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, SOURCE, "-lpmemobj"], check=True)
    return program


@pytest.fixture
def ledger(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    return Ledger(program, tmp_path)


def entries_of(session: Session, records: frozenset[int]) -> list[int]:
    """Which entries some records wrote, counted from the first one that the log knows."""
    offsets = session.history.log.records["offset"]
    first = min(offsets[record] for record in records)
    return sorted(int(offsets[record] - first) // 64 for record in records)


def test_the_bad_ones_of_many_records_of_one_line_are_found(ledger: Ledger) -> None:
    """The restart meets the first bad one only, and says the same of each."""
    ledger.guard("write", 0, 24, GOOD)
    ledger.guard("write", 3, 3, BAD)
    ledger.guard("write", 10, 6, GOOD)
    session = ledger.session()
    healing = session.heal(session.plan()[0])
    assert healing is not None
    assert entries_of(session, healing.records) == [0, 1, 2], "those three that are bad, and no good one"
    assert healing.attempts < 60
    session.change(healing)
    assert ledger.run("check").returncode == 0


def test_what_refers_to_an_object_that_is_gone_goes_with_it(ledger: Ledger) -> None:
    """The note is bad wherever it is shown: taking one place back does not help, and both show nothing in the end."""
    ledger.guard("show", BAD, 2)
    session = ledger.session()
    plan, _ = session.plan()
    healing = session.heal(plan)
    assert healing is not None and len(healing.records) == 3
    assert any(session.attempt(step.records).healed for step in plan.steps), "the note alone would have helped"
    session.change(healing)
    assert ledger.run("check").returncode == 0
    assert ledger.run("shown").stdout == "0\n"


def test_a_batch_is_taken_back_as_one(ledger: Ledger) -> None:
    ledger.guard("show", BAD, 1)
    one_by_one, in_batches = ledger.session(), ledger.session(batch=5)
    plan, _ = one_by_one.plan()
    alone, batch = one_by_one.heal(plan), in_batches.heal(plan)
    assert alone is not None and batch is not None
    assert len(one_by_one.attempts[1][0]) == 1, "the note alone, and what shows it once that helps"
    assert one_by_one.attempts[1][0] < batch.records == in_batches.attempts[0][0]
    assert alone.records == batch.records == plan.batches(5)[0].records
