"""Race mode of the memory tracer: what orders threads stands in the trace, by whatever library it is done."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from powercut.race.board import Plan
from powercut.trace.layout import Kind, Order

from .memory_kit import TOOL
from .race_kit import EVERYTHING, RaceRun, build, race
from .tracer_kit import Event

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")


def orders(run: RaceRun) -> list[Event]:
    return run.recording.events(Kind.ORDER)


LOCKS = r"""
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int ready;
static void *one(void *unused) {
    pthread_mutex_lock(&mutex); ready = 1; pthread_cond_signal(&condition); pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    sem_post(&semaphore);
    return NULL;
}
static void *two(void *unused) {
    pthread_mutex_lock(&mutex); while (!ready) pthread_cond_wait(&condition, &mutex); pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    sem_wait(&semaphore);
    pthread_rwlock_rdlock(&rwlock); pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    pthread_mutex_lock(&mutex); if (pthread_mutex_trylock(&mutex) == 0) abort(); pthread_mutex_unlock(&mutex);
    pthread_rwlock_unlock(&rwlock);
    return NULL;
}
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    printf("%lu %lu %lu %lu %lu\n", (long)&mutex, (long)&condition, (long)&rwlock, (long)&barrier, (long)&semaphore);
    fflush(stdout);
    run_both(two, one);
    return 0;
}
"""


@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_functions_that_order_threads_are_seen(tmp_path: Path, flags: tuple[str, ...]) -> None:
    run = race(tmp_path, build(tmp_path, LOCKS, *flags), Plan(EVERYTHING))
    addresses = map(int, run.recording.outputs[1].split())
    names = dict(zip(addresses, ("mutex", "condition", "rwlock", "barrier", "semaphore"), strict=True))
    main, two, one = run.results.thread_ids

    def of(thread: int) -> list[str]:
        mine = [event for event in orders(run) if event.tid == thread and event.length in names]
        return [f"{Order(event.extra).name} {names[event.length]}" for event in mine]

    assert of(one) == [
        *("LOCK mutex", "SEND condition", "UNLOCK mutex", "SEND barrier", "RECEIVE barrier", "SEND semaphore"),
    ]
    waited = ["UNLOCK mutex", "RECEIVE condition", "LOCK mutex"]
    end = [
        *("LOCK mutex", "UNLOCK mutex", "SEND barrier", "RECEIVE barrier", "RECEIVE semaphore"),
        *("LOCK_SHARED rwlock", "UNLOCK rwlock", "LOCK rwlock", "LOCK mutex", "UNLOCK mutex", "UNLOCK rwlock"),
    ]
    assert of(two) in (end, [end[0], *waited, *end[1:]])
    assert [e.length for e in orders(run) if e.extra == Order.JOIN and e.tid == main] == [two, one]


def test_threads_and_locks_of_cpp_are_seen(tmp_path: Path) -> None:
    body = r"""
#include <fcntl.h>
#include <mutex>
#include <shared_mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
static std::mutex lock;
static std::shared_mutex shared;
int main(int argc, char **argv) {
    int fd = open(argv[1], O_CREAT | O_RDWR, 0600);
    if (ftruncate(fd, 4096) != 0) return 1;
    volatile unsigned long *pm = (unsigned long *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    std::thread one([&] { std::lock_guard<std::mutex> held(lock); pm[0] = 1; });
    std::thread two([&] { std::shared_lock<std::shared_mutex> held(shared); pm[8] = 1; });
    one.join();
    two.join();
    return 0;
}
"""
    run = race(tmp_path, build(tmp_path, body, language="c++"), Plan(EVERYTHING))
    _, one, two = run.results.thread_ids
    kinds = {(event.tid, Order(event.extra)) for event in orders(run)}
    assert {(one, Order.LOCK), (one, Order.UNLOCK), (two, Order.LOCK_SHARED), (two, Order.UNLOCK)} <= kinds
    assert [event.length for event in orders(run) if event.extra == Order.JOIN] == [one, two]


def test_lock_words_in_the_file_are_known_by_their_use(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    while (__atomic_exchange_n(&WORDS[1], 1, __ATOMIC_ACQUIRE)) { }
    WORDS[20] = 1;
    __atomic_store_n(&WORDS[1], 0, __ATOMIC_RELEASE);
    unsigned int free = 0;
    if (!__atomic_compare_exchange_n((unsigned int *)&WORDS[2], &free, 7, 0, 5, 5)) return 1;
    __atomic_exchange_n((unsigned int *)&WORDS[2], 0, __ATOMIC_RELEASE);
    unsigned long nothing = 0; /* a pointer that is published, a counter: no locks */
    if (!__atomic_compare_exchange_n(&WORDS[3], &nothing, (unsigned long)argv, 0, 5, 5)) return 1;
    __atomic_fetch_add(&WORDS[4], 1000000, __ATOMIC_SEQ_CST);
    return 0;
}
"""
    run = race(tmp_path, build(tmp_path, body), Plan(EVERYTHING))
    found = [(Order(event.extra).name, event.offset) for event in orders(run) if event.inode != 0]
    assert found == [("LOCK", 8), ("UNLOCK", 8), ("LOCK", 16), ("UNLOCK", 16)]


def test_a_lock_word_that_the_program_names_is_one_whatever_it_holds(tmp_path: Path) -> None:
    body = r"""
#define POWERCUT
#include "powercut.h"
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    pc_sync_var(&WORDS[5], 4, 1);
    *(volatile unsigned int *)&WORDS[5] = 9;
    *(volatile unsigned int *)&WORDS[5] = 1;
    return 0;
}
"""
    native = Path(sysconfig.get_paths()["platlib"]) / "powercut" / "_native"
    flags = [f"-I{native / 'include'}", f"-L{native / 'lib'}", f"-Wl,-rpath,{native / 'lib'}"]
    run = race(tmp_path, build(tmp_path, body, *flags, "-Wl,--no-as-needed", "-lpowercut"), Plan(EVERYTHING))
    found = [(event.extra, event.offset, event.length) for event in orders(run) if event.inode != 0]
    assert found[0] == (Order.SYNC_VAR + 4, 40, 1)
    assert [(kind, offset) for kind, offset, _ in found[1:]] == [(Order.LOCK, 40), (Order.UNLOCK, 40)]
