"""The twelve hard faults of the Arthas paper, on services of ours: each is healed, and the service stands more load.

The services are plain programs with PMDK's shared libraries. Each is broken under guard and load by the client that
meets its mistake; the table of attempts and losses is `bench/heal.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from powercut.heal.changes import undo
from powercut.record.tracers import memory_tool

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from hard_faults import FAULTS, HardFault, Service, build

ROUNDS = 150  # of each client
MOST = 0.03  # of all updates may be discarded

pytestmark = [
    pytest.mark.skipif(not Path("/usr/include/libpmemobj.h").exists(), reason="libpmemobj-dev is not there"),
    pytest.mark.skipif(memory_tool() is None, reason="built without Valgrind"),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hard faults")
    build(folder)
    return folder


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_hard_fault_is_healed_and_the_service_goes_on(
    fault: HardFault, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    service = Service(fault, programs, tmp_path / "service")
    service.break_down(ROUNDS)
    assert not service.is_well(), "the fault was met"
    healed = service.heal()
    assert healed.way_back is not None, "it was healed"
    assert healed.mode == ("leaks" if fault.is_leak else "purge")
    assert healed.discarded <= MOST * healed.updates
    assert service.is_well()
    if fault.name in ("f4", "f12"):
        undo(healed.way_back)
        assert not service.is_well(), "undone, it is as it was"
    else:
        assert service.serves(ROUNDS)
