"""The same plan is the same order of all that threads do, also where the kernel wakes them: replays live on that."""

from __future__ import annotations

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
}
BODY = r"""
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static long turn;
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


@pytest.mark.parametrize("name", MEETINGS)
def test_a_plan_is_an_order(tmp_path: Path, name: str) -> None:
    program = build(tmp_path, BODY.replace("MEET", MEETINGS[name]), "-O1")
    loads, stores = race(tmp_path, program, Plan(EVERYTHING)).shared_sites(0)
    plan = Plan(EVERYTHING | BoardFlag.TAINT, BoardMode.SYNC, syncs=[PlannedSync(loads, stores, tries=32)])
    first, *others = (course(race(tmp_path, program, plan)) for _ in range(RUNS))
    assert len(first) > 8
    assert [other == first for other in others] == [True] * (RUNS - 1)
