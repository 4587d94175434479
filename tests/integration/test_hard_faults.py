"""The twelve hard faults of the Arthas paper, on services of ours: each is healed, and the service stands more load.

The services are plain programs with PMDK's shared libraries. Each is broken under guard and load by the client that
meets its mistake; the table of attempts and losses is `bench/heal.py`.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from pathlib import Path

import pytest

from powercut.guard.history import History
from powercut.guard.log import GuardLog
from powercut.heal.allocator import Allocator
from powercut.heal.changes import undo
from powercut.heal.objects import list_objects
from tests.needs import needs_memory_tool, needs_pmdk

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "corpus"))

from hard_faults import FAULTS, HardFault, Service, build

ROUNDS = 150  # of each client
MOST = 0.03  # of all updates may be discarded
OBJECT_HEAD = 16  # bytes before an object, of libpmemobj
SMALL = 1024  # larger records tell of several things

pytestmark = [needs_pmdk, needs_memory_tool]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hard faults")
    build(folder)
    return folder


def broken_down(fault: HardFault, programs: Path, folder: Path) -> Service:
    """A service that met its fault: f3 is a race, which not every load shows."""
    for number in range(8):
        service = Service(fault, programs, folder / f"service-{number}")
        service.break_down(ROUNDS)
        if not service.is_well():
            return service
    raise AssertionError("the fault was not met")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_hard_fault_is_healed_and_the_service_goes_on(
    fault: HardFault, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    service = broken_down(fault, programs, tmp_path)
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


@pytest.mark.parametrize("name", ["f8", "f12"])
def test_what_lies_outside_of_all_objects_is_the_allocators(name: str, programs: Path, tmp_path: Path) -> None:
    """And nothing inside is: libpmemobj itself says where its objects are."""
    fault = next(fault for fault in FAULTS if fault.name == name)
    service = Service(fault, programs, tmp_path / "service")
    service.break_down(ROUNDS)
    log = GuardLog(service.log)
    history = History(log, log.pools[1])
    allocator, extents = Allocator(history), sorted(list_objects(service.pool))
    starts = [start for start, _ in extents]
    for record in history.changes.tolist():
        offset, size = (int(log.records[field][record]) for field in ("offset", "size"))
        start, length = extents[max(0, bisect_right(starts, offset + OBJECT_HEAD) - 1)]
        in_object = start - OBJECT_HEAD <= offset < start + length
        if size <= SMALL and offset not in history.private:
            assert allocator.owns(record) == (not in_object), (offset, size)
