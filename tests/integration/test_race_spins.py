"""A thread that spins lets the others run: a lock in a mapped file costs turns, not time, and always the same ones.

Where nobody is left who could free it, that is a deadlock, soon.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.race.board import BoardFlag, BoardMode, BoardStop, Plan, PlannedSync
from powercut.trace.layout import Kind, Order

from .memory_kit import TOOL
from .race_kit import EVERYTHING, build, race

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

LOCKS = {
    "swap": ("while (!__sync_bool_compare_and_swap(&WORDS[0], 0, 1)) ;", "__sync_lock_release(&WORDS[0]);"),
    "exchange": ("while (__atomic_exchange_n(&WORDS[0], 1, __ATOMIC_ACQUIRE)) ;", "WORDS[0] = 0;"),
    "look first": (
        "do { while (WORDS[0]) ; } while (!__sync_bool_compare_and_swap(&WORDS[0], 0, 1));",
        "WORDS[0] = 0;",
    ),
    "ticket": (
        "unsigned long mine = __sync_fetch_and_add(&WORDS[0], 1); while (WORDS[1] != mine) ;",
        "WORDS[1]++;",
    ),
}
BODY = r"""
static void *adds(void *unused) {
    for (int i = 0; i < 12; i++) {
        TAKE
        WORDS[8]++; persist(&WORDS[8]);
        FREE
    }
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t threads[4];
    pm = map_file(argv[1], 4096, 0, NULL);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return WORDS[8] == 48 ? 0 : 1;
}
"""
MOST = 60_000  # accesses; a thread that spins through one turn makes more than a hundred thousand


@pytest.mark.parametrize("name", LOCKS)
def test_who_spins_lets_the_holder_go_on(tmp_path: Path, name: str) -> None:
    take, free = LOCKS[name]
    program = build(tmp_path, BODY.replace("TAKE", take).replace("FREE", free), "-O1")
    first = race(tmp_path, program, Plan(EVERYTHING | BoardFlag.TAINT))
    loads, stores = first.shared_sites(64)
    syncs = [PlannedSync(loads, stores, tries=32)]
    for plan in (Plan(), Plan(mode=BoardMode.SYNC, syncs=syncs)):
        one, other = (race(tmp_path, program, plan) for _ in range(2))
        assert one.recording.trace.meta["exit"] == b"exited 0"
        assert one.results.loads + one.results.stores < MOST
        assert (one.results.loads, one.results.switches) == (other.results.loads, other.results.switches)


@pytest.mark.parametrize("name", LOCKS)
def test_who_spins_for_a_lock_that_nobody_frees_is_deadlocked(tmp_path: Path, name: str) -> None:
    take, _ = LOCKS[name]
    program = build(tmp_path, BODY.replace("TAKE", take).replace("FREE", ""), "-O1")
    run = race(tmp_path, program, Plan(BoardFlag.ORDER, run_ms=20_000))
    assert run.results.stopped is BoardStop.DEADLOCK
    trace = run.recording.trace
    stuck = trace.events[trace.of_kind(Kind.ORDER)]
    stuck = stuck[stuck["extra"] == Order.STUCK]
    assert len(stuck) == 5  # the first thread waits for the others to end
    assert (stuck["inode"] != 0).sum() == 4  # each looks at a word of the file


def test_who_spins_for_a_holder_that_sleeps_is_not(tmp_path: Path) -> None:
    free = "static int once; if (!once++) usleep(1300000); WORDS[0] = 0;"
    program = build(tmp_path, BODY.replace("TAKE", LOCKS["swap"][0]).replace("FREE", free))
    run = race(tmp_path, program, Plan(BoardFlag.ORDER, run_ms=20_000))
    assert run.recording.trace.meta["exit"] == b"exited 0"
