"""Race mode of the memory tracer: threads that wait for each other, and the same order of threads each time.

Reads are forced between a store and its flush, and nothing waits for ever.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.race.board import BoardMode, BoardStop, Plan, PlannedSync
from powercut.trace.layout import Kind

from .memory_kit import TOOL
from .race_kit import COUNTED, EVERYTHING, FIGURE_1, RaceRun, build, race

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")


def scheduled(run: RaceRun, offset: int = 0, **settings: object) -> Plan:
    """The plan that lets loads of a shared word wait for its stores, however slow the machine is."""
    loads, stores = run.shared_sites(offset)
    syncs = [PlannedSync(loads, stores, **settings)]  # type: ignore[arg-type]
    return Plan(COUNTED, BoardMode.SYNC, wait_ms=60_000, writer_ms=60_000, syncs=syncs)


def test_a_read_is_forced_between_store_and_flush(tmp_path: Path) -> None:
    program = build(tmp_path, FIGURE_1)
    free = [race(tmp_path, program, Plan(COUNTED)) for _ in range(10)]
    plan = scheduled(free[0])
    forced = [race(tmp_path, program, plan) for _ in range(20)]
    assert [run.results.inter for run in forced] == [1] * 20
    assert all(run.results.syncs[0]["hits"] == 1 and not run.results.syncs[0]["disabled"] for run in forced)
    assert sum(run.results.inter > 0 for run in free) <= 1


READERS_ONLY = r"""
static void *reader(void *unused) { return (void *)WORDS[0]; }
static void *other(void *argument) { WORDS[0] = 1; persist(pm); return (void *)WORDS[0]; }
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    run_both(other, reader);
    run_both(reader, reader);
    return 0;
}
"""


def test_when_all_wait_one_becomes_privileged_and_then_the_point_is_given_up(tmp_path: Path) -> None:
    program = build(tmp_path, READERS_ONLY)
    loads, stores = race(tmp_path, program, Plan(COUNTED)).shared_sites(0)
    sync = PlannedSync(loads, [(stores[0][0], 1)], privileged=3)  # a store that does not exist
    (told,) = race(tmp_path, program, Plan(COUNTED, BoardMode.SYNC, syncs=[sync])).results.syncs
    assert (told["chosen"], told["signals"], told["hits"]) == (3, 0, 0)
    assert told["waits"] >= 2


def test_readers_wait_until_all_threads_are_there(tmp_path: Path) -> None:
    """Each thread loads before it stores: if all wait, one must go on, and the others see what it stores."""
    body = r"""
static void *adds(void *unused) { WORDS[0] += 1; persist(pm); return NULL; }
int main(int argc, char **argv) {
    pthread_t threads[12];
    pm = map_file(argv[1], 4096, 0, NULL);
    for (int i = 0; i < 12; i++) pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 0; i < 12; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""
    program = build(tmp_path, body)
    (told,) = race(tmp_path, program, scheduled(race(tmp_path, program, Plan(COUNTED)))).results.syncs
    assert (told["waits"], told["hits"]) == (12, 11)


def test_waits_are_skipped_as_the_plan_says(tmp_path: Path) -> None:
    program = build(tmp_path, READERS_ONLY)
    loads, stores = race(tmp_path, program, Plan(COUNTED)).shared_sites(0)
    sync = PlannedSync(loads, [(stores[0][0], 1)], skip=100)
    (told,) = race(tmp_path, program, Plan(COUNTED, BoardMode.SYNC, syncs=[sync])).results.syncs
    assert (told["waits"], told["disabled"], told["chosen"]) == (0, 0, 0)
    assert told["skipped"] == told["reached"] > 0


def test_a_reader_that_holds_what_the_writer_needs_does_not_wait_for_ever(tmp_path: Path) -> None:
    body = r"""
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *writer(void *unused) {
    pthread_mutex_lock(&lock); WORDS[0] = 1; persist(pm); pthread_mutex_unlock(&lock); return NULL;
}
static void *reader(void *unused) {
    pthread_mutex_lock(&lock); unsigned long x = WORDS[0]; pthread_mutex_unlock(&lock); return (void *)x;
}
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(reader, writer); return 0; }
"""
    program = build(tmp_path, body)
    plan = scheduled(race(tmp_path, program, Plan(COUNTED)))
    run = race(tmp_path, program, plan)
    assert run.results.inter == 0
    assert run.results.stopped is BoardStop.RAN


def test_a_store_under_a_lock_is_read_before_its_flush_behind_the_lock(tmp_path: Path) -> None:
    body = r"""
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *writer(void *unused) {
    pthread_mutex_lock(&lock); WORDS[0] = 1; pthread_mutex_unlock(&lock); persist(pm); return NULL;
}
static void *reader(void *unused) {
    pthread_mutex_lock(&lock); unsigned long x = WORDS[0]; pthread_mutex_unlock(&lock); return (void *)x;
}
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(writer, reader); return 0; }
"""
    program = build(tmp_path, body)
    plan = scheduled(race(tmp_path, program, Plan(COUNTED)))
    runs = [race(tmp_path, program, plan) for _ in range(5)]
    assert sum(run.results.inter > 0 for run in runs) >= 4  # not if the reader has the lock first


LOOPS = r"""
static void *writer(void *unused) {
    for (unsigned long i = 1; i <= 40; i++) { WORDS[8 * (i % 4)] = i; persist(&WORDS[8 * (i % 4)]); }
    return NULL;
}
static void *reader(void *unused) {
    unsigned long sum = 0;
    for (int i = 0; i < 40; i++) sum += WORDS[8 * (i % 4)];
    WORDS[64] = sum; persist(&WORDS[64]);
    return NULL;
}
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(writer, reader); return 0; }
"""


def test_an_interleaving_is_met_again_by_its_occurrences(tmp_path: Path) -> None:
    program = build(tmp_path, LOOPS)
    free = race(tmp_path, program, Plan(COUNTED))
    loads, stores = free.shared_sites(0)
    wanted = PlannedSync(loads, stores, reader=3, load_occurrence=17, writer=2, store_occurrence=24)
    plan = Plan(COUNTED, BoardMode.SYNC, syncs=[wanted])
    met = 0
    for _ in range(10):
        rows = race(tmp_path, program, plan).results.candidates
        met += any(
            (row["reader"], row["load_occurrence"], row["writer"], row["store_occurrence"]) == (3, 17, 2, 24)
            for row in rows
        )
    assert met >= 9


# Threads that meet at a spin lock and use the same words.
BUSY = r"""
#include <sched.h>
static void *work(void *argument) {
    for (unsigned long i = 0; i < 15; i++) {
        volatile unsigned long *word = &WORDS[8 * (1 + (i * 7 + (unsigned long)argument) % 5)];
        while (__atomic_exchange_n(&WORDS[0], 1, __ATOMIC_ACQUIRE)) sched_yield();
        *word = *word * 31 + (unsigned long)argument;
        __atomic_store_n(&WORDS[0], 0, __ATOMIC_RELEASE);
        persist(word);
    }
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t threads[4];
    pm = map_file(argv[1], 4096, 0, NULL);
    for (unsigned long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


def steps(run: RaceRun) -> list[tuple[int, int, int]]:
    """What threads did to the file, in order: the thread by its index, what, and where."""
    index = {number: at for at, number in enumerate(run.results.thread_ids)}
    events = run.recording.events(Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.LOAD, Kind.CANDIDATE)
    return [(index[event.tid], event.kind, event.offset) for event in events]


def test_the_same_plan_is_the_same_order_of_threads(tmp_path: Path) -> None:
    program = build(tmp_path, BUSY)
    loads, stores = race(tmp_path, program, Plan(COUNTED)).shared_sites(64)
    sync = PlannedSync(loads, stores, skip=1000, tries=4)
    plans = [Plan(EVERYTHING, BoardMode.SYNC, seed=seed, syncs=[sync]) for seed in (1, 2)]
    one, other = ([steps(race(tmp_path, program, plan)) for _ in range(2)] for plan in plans)
    assert one[0] == one[1]
    assert other[0] == other[1]
    assert one[0] != other[0]  # the seed says otherwise
