"""Hard faults in lists, slabs and directories: few attempts, little is discarded, and healing can be undone.

The services go on after the fault and add what is newer: lists have many entries before the one that is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from powercut.heal.changes import undo
from tests.needs import needs_memory_tool, needs_pmdk

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from hard_faults import HardFault, Service, build
from linked_faults import FAULTS

ROUNDS = 150  # of each client
ATTEMPTS = 40
SECONDS = 60.0
MOST = 0.01  # of all updates may be discarded

pytestmark = [needs_pmdk, needs_memory_tool]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked faults")
    build(folder, FAULTS)
    return folder


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_in_a_linked_structure_is_healed(
    fault: HardFault, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    service = Service(fault, programs, tmp_path / "service")
    service.break_down(ROUNDS)
    assert not service.is_well()
    sick = service.pool.read_bytes()
    healed = service.heal()
    assert healed.way_back is not None and healed.mode == "purge"
    assert healed.attempts <= ATTEMPTS and healed.seconds <= SECONDS
    assert healed.discarded <= MOST * healed.updates
    whole = service.pool.read_bytes()
    undo(healed.way_back)
    assert service.pool.read_bytes() == sick, "byte for byte"
    service.pool.write_bytes(whole)
    assert service.is_well() and service.serves(ROUNDS)
