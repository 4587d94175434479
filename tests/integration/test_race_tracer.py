"""Race mode of the memory tracer: which loads see what is not guaranteed, and threads that wait for it.

Before: a C compiler, and the tracer with its Valgrind tool. After: candidates are exactly those of the brute-force
twin, reads are forced between a store and its flush, and programs that would never end are ended.
"""

from __future__ import annotations

import random
import sysconfig
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from powercut.race.board import BoardFlag, BoardMode, BoardStop, Plan, PlannedSync, module_hash
from powercut.trace.layout import FRAME, Effect, Flag, Kind, Order, TableKind
from tests.models.candidate_twin import Expected, Memory, expected_candidates

from .memory_kit import TOOL
from .race_kit import COUNTED, EVERYTHING, FIGURE_1, RaceRun, build, race
from .tracer_kit import Event, record

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")

LONG = Plan(flags=EVERYTHING, most_inter=1 << 30, most_intra=1 << 30)


# Candidates


def random_operation(rng: random.Random) -> str:
    """An operation on one of four lines, as C; each is an instruction of its own place."""
    offset = rng.randrange(256)
    kind, size = rng.choice(("unsigned char", "unsigned short", "unsigned int", "unsigned long")), rng.randrange(4)
    word = offset & ~7
    return rng.choice(
        (
            f"*(volatile {kind} *)(pm + {offset}) = {rng.randrange(200)};",
            f"*(volatile {kind} *)(pm + {offset}) = {rng.randrange(200)};",
            f"sum += *(volatile {kind} *)(pm + {offset});",
            f"sum += *(volatile {kind} *)(pm + {offset});",
            f'__asm__ volatile("movups (%0), %%xmm0" :: "r"(pm + {offset}) : "xmm0", "memory");',
            f'__asm__ volatile("movnti %1, (%0)" :: "r"(pm + {word}), "r"({size}ul) : "memory");',
            f"sum += __atomic_fetch_add((unsigned long *)(pm + {word}), {size}, __ATOMIC_SEQ_CST);",
            f"sum += __atomic_exchange_n((unsigned long *)(pm + {word}), {size}, __ATOMIC_SEQ_CST);",
            f"clwb(pm + {offset});",
            f'__asm__ volatile("clflushopt (%0)" :: "r"(pm + {offset}) : "memory");',
            f'__asm__ volatile("clflush (%0)" :: "r"(pm + {offset}) : "memory");',
            "fence();",
            "sched_yield();",
        )
    )


def random_program(seed: int) -> str:
    """Two threads that keep in step, so that they meet on any machine."""
    rng = random.Random(seed)
    steps = [["\n".join(random_operation(rng) for _ in range(8)) for _ in range(20)] for _ in range(2)]
    threads = ["\npthread_barrier_wait(&step);\n".join(some) for some in steps]
    return (
        "#include <sched.h>\nstatic volatile unsigned long sum;\nstatic pthread_barrier_t step;\n"
        + "".join(
            f"static void *thread_{i}(void *unused) {{\n{text}\nreturn NULL;\n}}\n" for i, text in enumerate(threads)
        )
        + "int main(int argc, char **argv) {\npm = map_file(argv[1], 4096, 0, NULL);\n"
        "pthread_barrier_init(&step, NULL, 2);\nrun_both(thread_0, thread_1);\nreturn 0;\n}\n"
    )


def memory_of(event: Event) -> Memory:
    return Memory(event.kind, event.tid, event.inode, event.offset, event.length, event.flags, event.extra)


def told_and_expected(run: RaceRun) -> tuple[list[list[Expected]], list[list[Expected]]]:
    """For each load of a trace, the candidates that the tracer told and those that the twin expects."""
    past: list[Memory] = []
    told: list[list[Expected]] = []
    expected: list[list[Expected]] = []
    tracked = (Kind.STORE, Kind.FLUSH, Kind.FENCE, Kind.LOAD, Kind.CANDIDATE)
    rows = run.results.candidates
    for event in run.recording.events(*tracked):
        if event.kind == Kind.CANDIDATE:
            row = rows[event.extra - 1]
            told[-1].append(Expected(event.inode, event.offset, event.length, bool(row["reader"] != row["writer"])))
        elif event.kind == Kind.LOAD:
            told.append([])
            expected.append(list(expected_candidates(past, memory_of(event))))
        else:
            past.append(memory_of(event))
    return told, expected


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_candidates_are_exactly_those_of_the_twin(tmp_path: Path, seed: int) -> None:
    program = build(tmp_path, random_program(seed))
    plan = replace(LONG, mode=BoardMode.DELAY, seed=seed, delay_us=20, delay_one_in=4)
    run = race(tmp_path, program, plan)
    told, expected = told_and_expected(run)
    assert told == expected
    found = [candidate for some in told for candidate in some]
    inter = sum(candidate.inter for candidate in found)
    assert (run.results.inter, run.results.intra) == (inter, len(found) - inter)
    assert inter > 3, "threads did not meet: the test shows little"
    assert run.results.delays > 0
    assert run.results.switches > 5


def test_a_pair_is_recorded_so_many_times_and_then_counted(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    unsigned long sum = 0;
    for (int i = 0; i < 100; i++) { WORDS[0] = i; sum += WORDS[0]; }
    return sum == 4950 ? 0 : 1;
}
"""
    run = race(tmp_path, build(tmp_path, body), Plan(COUNTED, most_intra=8))
    assert [event.extra for event in run.recording.events(Kind.CANDIDATE)] == list(range(1, 9))
    assert (run.results.intra, run.results.intra_dropped, run.results.inter) == (100, 92, 0)
    assert run.results.candidates["load_occurrence"].tolist() == list(range(1, 9))


def test_what_msync_and_fsync_write_is_guaranteed(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 8192, 0, NULL);
    unsigned long sum = 0;
    WORDS[0] = 1; WORDS[512] = 2;
    OK(msync(pm, 4096, MS_SYNC));
    sum += WORDS[0];
    sum += WORDS[512]; /* the other page */
    int fd = must(open(argv[1], O_RDWR));
    OK(fsync(fd));
    sum += WORDS[512];
    return sum == 5 ? 0 : 1;
}
"""
    run = race(tmp_path, build(tmp_path, body), LONG)
    assert [event.offset for event in run.recording.events(Kind.CANDIDATE)] == [4096]


def test_what_the_kernel_reads_is_loaded(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    memcpy(pm + 100, "hello, world", 12);
    OK(write(1, pm + 100, 12));
    return 0;
}
"""
    run = race(tmp_path, build(tmp_path, body), LONG)
    loaded = [(event.offset, event.offset + event.length) for event in run.recording.events(Kind.CANDIDATE)]
    found = {byte for start, end in loaded for byte in range(start, end)}
    assert found == set(range(100, 112))


@pytest.mark.parametrize("flags", [(), ("-no-pie",)])
def test_sites_are_those_of_the_stacks(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = build(tmp_path, FIGURE_1, *flags)
    run = race(tmp_path, program, Plan(EVERYTHING), stacks=True)
    trace = run.recording.trace
    for kind, (site,) in zip((Kind.LOAD, Kind.STORE), run.shared_sites(0), strict=True):
        stack = next(event.stack for event in run.recording.events(kind) if event.offset == 0)
        innermost = np.frombuffer(trace.entry(TableKind.STACK, stack), FRAME)[0]
        path = trace.entry(TableKind.MODULE, int(innermost["ref"])).split(b"\0")[0]
        assert site == (module_hash(path), int(innermost["addr"]))


# Schedules


def scheduled(run: RaceRun, offset: int = 0, **settings: object) -> Plan:
    """The plan that lets loads of a shared word wait for its stores."""
    loads, stores = run.shared_sites(offset)
    return Plan(COUNTED, BoardMode.SYNC, syncs=[PlannedSync(loads, stores, **settings)])  # type: ignore[arg-type]


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


# Effects


def effects(run: RaceRun) -> list[tuple[int, Effect, int]]:
    """For each effect: its candidate, how it depends on that, and the offset of the store before it."""
    found, stored = [], -1
    for event in run.recording.events(Kind.STORE, Kind.EFFECT):
        if event.kind == Kind.STORE:
            stored = event.offset
        else:
            found.append((event.extra, Effect(event.length), stored))
    return found


def test_stores_and_calls_that_depend_on_candidates_are_effects(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    WORDS[0] = 3;
    unsigned long x = WORDS[0];             /* 1 */
    WORDS[8] = x + 1;
    WORDS[16 + 8 * (x & 1)] = 7;
    WORDS[0] = x;                           /* its own bytes: nothing that was not there before */
    persist(pm);
    WORDS[32] = x;                          /* guaranteed by now */
    WORDS[40] = 0x61;
    unsigned long letter = __atomic_exchange_n(&WORDS[40], 0x62, __ATOMIC_SEQ_CST); /* 2 */
    char text[2] = {(char)letter, '\n'};
    OK(write(1, text, 2));
    OK(write(1, pm + 320, 1));              /* 3: read by the kernel itself */
    return 0;
}
"""
    run = race(tmp_path, build(tmp_path, body), Plan(EVERYTHING | BoardFlag.TAINT, most_intra=1 << 30))
    assert [event.offset for event in run.recording.events(Kind.CANDIDATE)] == [0, 320, 320]
    told = effects(run)
    assert told[:2] == [(1, Effect.VALUE, 64), (1, Effect.ADDRESS, 192)]
    assert [(number, how) for number, how, _ in told[2:]] == [(2, Effect.OUTPUT), (3, Effect.OUTPUT)]


# What orders threads


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


# Ends


DEADLOCK = r"""
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t barrier;
static void take(int first) {
    pthread_mutex_lock(&locks[first]); WORDS[first] = 1;
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&locks[1 - first]);
}
static void *one(void *unused) { take(0); return NULL; }
static void *two(void *unused) { take(1); return NULL; }
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    run_both(one, two);
    return 0;
}
"""


def test_a_program_that_waits_for_itself_is_ended_and_says_where(tmp_path: Path) -> None:
    run = race(tmp_path, build(tmp_path, DEADLOCK), Plan(COUNTED))
    assert run.results.stopped is BoardStop.DEADLOCK
    stuck = [event for event in orders(run) if event.extra == Order.STUCK]
    assert [event.tid for event in stuck] == run.results.thread_ids
    assert all(event.length != 0 for event in stuck)
    assert run.recording.trace.meta["exit"] == b"signaled 9"


def test_a_program_that_never_ends_is_ended_when_its_time_is_over(tmp_path: Path) -> None:
    body = r"""
static void *spin(void *unused) { while (!__atomic_load_n(&WORDS[0], __ATOMIC_SEQ_CST)) { } return NULL; }
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(spin, spin); return 0; }
"""
    run = race(tmp_path, build(tmp_path, body), Plan(COUNTED, run_ms=1500))
    assert run.results.stopped is BoardStop.TIMEOUT
    assert [event.tid for event in orders(run) if event.extra == Order.STUCK] == run.results.thread_ids


def test_a_child_leaves_the_board_alone(tmp_path: Path) -> None:
    body = r"""
int main(int argc, char **argv) {
    pm = map_file(argv[1], 4096, 0, NULL);
    WORDS[0] = 1;
    pid_t child = fork();
    if (child == 0) { for (int i = 1; i < 9; i++) WORDS[i] = WORDS[0]; _exit(0); }
    OK(waitpid(child, NULL, 0));
    return 0;
}
"""
    run = race(tmp_path, build(tmp_path, body), Plan(COUNTED))
    assert (run.results.stores, run.results.loads, run.results.intra) == (1, 0, 0)
    assert len([e for e in run.recording.events(Kind.STORE) if e.flags == Flag(0)]) == 9


def test_without_a_board_there_is_no_race_mode(tmp_path: Path) -> None:
    program = build(tmp_path, FIGURE_1)
    (tmp_path / "data").mkdir()
    recording = record(tmp_path / "data", [program, "pm"], "--memory-tool", str(TOOL))
    assert not recording.events(Kind.LOAD, Kind.CANDIDATE, Kind.ORDER)


def test_what_is_no_board_is_refused(tmp_path: Path) -> None:
    program = build(tmp_path, FIGURE_1)
    (tmp_path / "data").mkdir()
    with open(tmp_path / "none", "w+b") as file:
        file.truncate(1 << 21)
        options = ["--memory-tool", str(TOOL), "--board", f"race={file.fileno()}"]
        recording = record(tmp_path / "data", [program, "pm"], *options, pass_fds=[file.fileno()], code=None)
    assert recording.trace.meta["exit"] == b"exited 1"
