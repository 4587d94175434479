"""Race mode of the memory tracer: how programs end, and what is none of its business.

Programs that would never end are ended, with the places of their threads; so is it told where a signal came to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powercut.findings.places import Places
from powercut.race.board import BoardFlag, BoardStop, Plan
from powercut.trace.layout import Flag, Kind, Order
from powercut.trace.symbols import Symbolizer

from .memory_kit import TOOL
from .race_kit import COUNTED, FIGURE_1, RaceRun, build, race
from .tracer_kit import Event, record

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="powercut was built without Valgrind")


def orders(run: RaceRun) -> list[Event]:
    return run.recording.events(Kind.ORDER)


def is_stuck(run: RaceRun, number: int) -> bool:
    event = run.recording.trace.events[number]
    return bool(event["kind"] == Kind.ORDER and event["extra"] == Order.STUCK)


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
static unsigned long word; // of ordinary memory: nobody watches it
static void *spin(void *unused) { while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST)) { } return NULL; }
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(spin, spin); return 0; }
"""
    run = race(tmp_path, build(tmp_path, body), Plan(COUNTED, run_ms=1500))
    assert run.results.stopped is BoardStop.TIMEOUT
    assert [event.tid for event in orders(run) if event.extra == Order.STUCK] == run.results.thread_ids


SERVER = r"""
#include <netinet/in.h>
#include <sys/socket.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int pair[2];
static void *waits(void *unused) { char byte; return (void *)read(pair[0], &byte, 1); }
static void *sleeps(void *unused) { for (;;) usleep(10000); return unused; }
static void *take(void *number) {
    long first = (long)number;
    pthread_mutex_lock(&locks[first]);
    usleep(200000);
    pthread_mutex_lock(&locks[1 - first]);
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t thread;
    pm = map_file(argv[1], 4096, 0, NULL);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    pthread_create(&thread, NULL, waits, NULL);
    pthread_create(&thread, NULL, sleeps, NULL);
    for (long i = 0; i < 2; i++) pthread_create(&thread, NULL, take, (void *)i);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    listen(server, 1);
    accept(server, NULL, NULL);
    return 0;
}
"""


def test_threads_that_wait_for_clients_are_not_stuck(tmp_path: Path) -> None:
    run = race(tmp_path, build(tmp_path, SERVER), Plan(COUNTED, run_ms=2000))
    assert run.results.stopped is BoardStop.TIMEOUT
    found = [event.tid for event in orders(run) if event.extra == Order.STUCK]
    assert found == run.results.thread_ids[2:]


def test_threads_that_store_only_to_get_a_lock_never_end(tmp_path: Path) -> None:
    body = r"""
static void *lock(void *unused) { while (__atomic_exchange_n(WORDS, 1, __ATOMIC_SEQ_CST)) { } return NULL; }
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(lock, lock); return 0; }
"""
    run = race(tmp_path, build(tmp_path, body), Plan(COUNTED, run_ms=1000))
    assert run.results.stopped is BoardStop.TIMEOUT


def test_a_program_that_still_flushes_when_its_time_is_over_is_slow(tmp_path: Path) -> None:
    body = r"""
static void *store(void *unused) { for (;;) { WORDS[8]++; persist(&WORDS[8]); usleep(1000); } return NULL; }
static unsigned long word; // of ordinary memory: nobody watches it
static void *spin(void *unused) { while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST)) { } return NULL; }
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(store, spin); return 0; }
"""
    run = race(tmp_path, build(tmp_path, body), Plan(COUNTED, run_ms=1500))
    assert run.results.stopped is BoardStop.SLOW
    assert [event.tid for event in orders(run) if event.extra == Order.STUCK] == run.results.thread_ids


@pytest.mark.parametrize("how", ["__builtin_trap();", "abort();"])
def test_where_a_signal_kills_a_program_stands_in_the_trace(tmp_path: Path, how: str) -> None:
    body = r"""
#include <sched.h>
static void *spin(void *unused) { for (;;) sched_yield(); }
__attribute__((noinline)) static void die(void) { %s }
static void *one(void *unused) { WORDS[0] = 1; die(); return NULL; }
int main(int argc, char **argv) { pm = map_file(argv[1], 4096, 0, NULL); run_both(spin, one); return 0; }
"""
    run = race(tmp_path, build(tmp_path, body % how, "-g"), Plan(COUNTED), stacks=True)
    assert run.recording.trace.meta["exit"].startswith(b"signaled")
    (place,) = [number for number in range(len(run.recording.trace.events)) if is_stuck(run, number)]
    stack = Places(run.recording.trace, Symbolizer()).location(place, "", "").stack
    assert any(frame.startswith("die at ") for frame in stack), stack


def test_a_program_that_ends_by_itself_is_nowhere_stuck(tmp_path: Path) -> None:
    run = race(tmp_path, build(tmp_path, FIGURE_1), Plan(COUNTED | BoardFlag.ORDER))
    assert not [event for event in orders(run) if event.extra == Order.STUCK]


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
