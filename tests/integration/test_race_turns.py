"""The same plan is the same order of all that threads do, also where the kernel wakes them: replays live on that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from powercut.race.board import BoardFlag, BoardMode, Plan, PlannedSync
from powercut.trace.layout import Kind

from .memory_kit import TOOL
from .race_kit import EVERYTHING, RaceRun, build, race

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

MEETINGS = {
    "mutex": (
        "pthread_mutex_lock(&mutex); WORDS[0] = me; WORDS[8] = WORDS[0] + i; persist(&WORDS[0]); persist(&WORDS[8]);"
        "pthread_mutex_unlock(&mutex); keep(me, WORDS[8]);"
    ),
    "reader-writer lock": (
        "if ((i + me) % 3 == 0) { pthread_rwlock_wrlock(&lock); WORDS[0] = me; persist(&WORDS[0]); }"
        "else pthread_rwlock_rdlock(&lock);"
        "unsigned long seen = WORDS[0]; pthread_rwlock_unlock(&lock); keep(me, seen);"
    ),
    "condition": (
        "pthread_mutex_lock(&mutex); while (turn % 4 != me) pthread_cond_wait(&condition, &mutex);"
        "turn++; WORDS[0] = me; persist(&WORDS[0]); pthread_cond_broadcast(&condition); pthread_mutex_unlock(&mutex);"
        "keep(me, WORDS[0]);"
    ),
    "barrier": "keep(me, WORDS[0]); WORDS[0] = me; persist(&WORDS[0]); pthread_barrier_wait(&barrier);",
    "once": "pthread_once(&once[i], first); keep(me, WORDS[0]);",
    "semaphore": "sem_wait(&count); WORDS[0] = me; persist(&WORDS[0]); keep(me, WORDS[0]); sem_post(&count);",
}
BODY = r"""
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once[6]; // each is zero: PTHREAD_ONCE_INIT
static sem_t count;
static long turn;
static void first(void) { WORDS[0] = 1; persist(&WORDS[0]); }
static void keep(long me, unsigned long value) { WORDS[16 + 8 * me] = value; persist(&WORDS[16 + 8 * me]); }
static void *runs(void *name) {
    long me = (long)name;
    for (int i = 0; i < 6; i++) { MEET }
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t threads[4];
    pm = map_file(argv[1], 4096, 0, NULL);
    pthread_barrier_init(&barrier, NULL, 4);
    sem_init(&count, 0, 2);
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, runs, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""
RUNS = 4


def course(run: RaceRun) -> list[tuple[int, int, int]]:
    """Everything that threads did to the file, in its order."""
    trace = run.recording.trace
    threads = {number: index for index, number in enumerate(run.results.thread_ids)}
    events = trace.of_kind(Kind.STORE, Kind.FLUSH, Kind.CANDIDATE)
    columns = (trace.at(name, events).tolist() for name in ("tid", "kind", "offset"))
    return [(threads.get(thread, -1), kind, offset) for thread, kind, offset in zip(*columns, strict=True)]


CASES = [(name, mode) for name in MEETINGS for mode in (BoardMode.FREE, BoardMode.SYNC)]
CASES.remove(("once", BoardMode.SYNC))  # docs/race.md: threads behind a sync point inside of it come as they like


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_plan_is_an_order(tmp_path: Path, name: str, mode: BoardMode) -> None:
    """With what the first execution told of its arrivals, as it is saved for replays."""
    program = build(tmp_path, BODY.replace("MEET", MEETINGS[name]), "-O1")
    loads, stores = race(tmp_path, program, Plan(EVERYTHING)).shared_sites(0)
    syncs = [PlannedSync(loads, stores, tries=32)] if mode is BoardMode.SYNC else []
    plan = Plan(EVERYTHING | BoardFlag.TAINT, mode, syncs=syncs)
    first = race(tmp_path, program, plan)
    again = replace(plan, arrivals=first.results.arrivals)
    assert len(course(first)) > 8
    assert [course(race(tmp_path, program, again)) == course(first) for _ in range(RUNS)] == [True] * RUNS


# Who comes first is left to the world: each thread sleeps as long as the clock says.
OUTSIDE = (
    "struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now); usleep(now.tv_nsec / 1000 % 5000);"
    "WORDS[0] = me; persist(&WORDS[0]); keep(me, WORDS[0] + i);"
)


@pytest.mark.parametrize("mode", [BoardMode.FREE, BoardMode.SYNC])
def test_threads_that_come_back_from_outside_have_their_turns_again(tmp_path: Path, mode: BoardMode) -> None:
    program = build(tmp_path, "#include <time.h>\n" + BODY.replace("MEET", OUTSIDE), "-O1")
    plan = Plan(EVERYTHING, mode)
    free = [race(tmp_path, program, plan) for _ in range(RUNS)]
    assert len({tuple(course(run)) for run in free}) > 1  # or there would be nothing to repeat
    again = [course(race(tmp_path, program, replace(plan, arrivals=free[0].results.arrivals))) for _ in range(RUNS)]
    assert [other == course(free[0]) for other in again] == [True] * RUNS


def test_arrivals_that_do_not_come_hold_nobody_up_for_long(tmp_path: Path) -> None:
    program = build(tmp_path, BODY.replace("MEET", MEETINGS["mutex"]), "-O1")
    first = race(tmp_path, program, Plan(EVERYTHING))
    wrong = [(thread + 1, turn + 1) for thread, turn in first.results.arrivals]
    assert len(course(race(tmp_path, program, Plan(EVERYTHING, arrivals=wrong)))) == len(course(first))


CPLUSPLUS = r"""
#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <shared_mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>
static volatile unsigned long *words;
static std::shared_mutex lock;
static std::mutex mutex;
static std::condition_variable condition;
static std::once_flag once[4];
static long turn;
static void keep(long at, unsigned long value) {
    words[8 * at] = value;
    __asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)&words[8 * at])::"memory");
}
static void run(long me) {
    for (int i = 0; i < 4; i++) {
        std::call_once(once[i], [me] { keep(1, me); });
        if ((i + me) % 3 == 0) {
            std::unique_lock<std::shared_mutex> held(lock);
            keep(0, me);
        } else {
            std::shared_lock<std::shared_mutex> held(lock);
            keep(2 + me, words[0]);
        }
        std::unique_lock<std::mutex> held(mutex);
        condition.wait(held, [me] { return turn % 4 == me; });
        turn++;
        keep(2 + me, words[0] + words[8]);
        condition.notify_all();
    }
}
int main(int argc, char **argv) {
    int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 4096)) return 1;
    words = (volatile unsigned long *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    std::vector<std::thread> threads;
    for (long i = 0; i < 4; i++) threads.emplace_back(run, i);
    for (auto &thread : threads) thread.join();
}
"""


@pytest.mark.parametrize("mode", [BoardMode.FREE, BoardMode.SYNC])
def test_a_plan_is_an_order_for_locks_of_cplusplus(tmp_path: Path, mode: BoardMode) -> None:
    program = build(tmp_path, CPLUSPLUS, "-std=c++17", language="c++")
    loads, stores = race(tmp_path, program, Plan(EVERYTHING)).shared_sites(0)
    syncs = [PlannedSync(loads, stores, tries=32)] if mode is BoardMode.SYNC else []
    plan = Plan(EVERYTHING | BoardFlag.TAINT, mode, syncs=syncs)
    first = race(tmp_path, program, plan)
    again = replace(plan, arrivals=first.results.arrivals)
    assert len(course(first)) > 8
    assert [course(race(tmp_path, program, again)) == course(first) for _ in range(RUNS)] == [True] * RUNS
