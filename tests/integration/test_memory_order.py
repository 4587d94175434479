"""The memory tracer: stores of all threads and processes stand in one order with their system calls."""

from __future__ import annotations

from pathlib import Path

from powercut.trace.layout import Kind

from .memory_kit import assert_explained, needs_tool, trace

pytestmark = needs_tool


def test_stores_and_calls_stand_in_one_order(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned char *p = map_file("f", 8192, 0, 0);
        int fd = must(open("g", O_CREAT | O_RDWR, 0600));
        p[0] = 1;
        OK(write(fd, "x", 1));
        p[1] = 2;
        OK(msync((void *)p, 4096, MS_SYNC));
        p[2] = 3;
        OK(rename("g", "h"));
        p[3] = 4;
        OK(write(1, "said", 4));
        p[4] = 5;
        return 0;
    }"""
    run = trace(data, body)
    kinds = [event.kind for event in run.events() if event.kind not in (Kind.FENCE, Kind.CLOSE, Kind.MEMORY)]
    assert kinds[kinds.index(Kind.STORE) :] == [
        *(Kind.STORE, Kind.WRITE, Kind.STORE, Kind.MSYNC, Kind.STORE, Kind.RENAME, Kind.STORE, Kind.OUTPUT),
        *(Kind.STORE, Kind.EXIT),
    ]
    assert run.outputs == {1: b"said"}
    assert_explained(run)


THREADS = r"""
#define WORDS 4096
static volatile unsigned long *p;
static __thread sigjmp_buf back;
static __thread unsigned long *mine;
static __thread volatile int signals;
__attribute__((noinline)) static void put(unsigned at, unsigned long value) { mine[at % WORDS] = value; }
static void on(int number) { signals++; put(7 * signals, number); }
static void jump(int number) { put(11 * ++signals, number); siglongjmp(back, 1); }
__attribute__((noinline)) static void deep(int levels, unsigned seed) {
    volatile char room[200];
    room[levels] = seed;
    put(seed + levels, seed);
    if (levels == 0)
        siglongjmp(back, 2);
    deep(levels - 1, seed);
    put(room[levels], 1);
}
static void *work(void *argument) {
    char *other = malloc(65536);
    stack_t stack = {.ss_sp = other, .ss_size = 65536};
    OK(sigaltstack(&stack, NULL));
    mine = (unsigned long *)p + (long)argument * WORDS;
    for (volatile unsigned i = 0; i < 300; i++) {
        if (sigsetjmp(back, 1) == 0)
            deep(i % 20, i * 31);
        pthread_kill(pthread_self(), SIGUSR1);
        if (i % 7 == 0 && sigsetjmp(back, 1) == 0)
            pthread_kill(pthread_self(), SIGUSR2);
        __sync_fetch_and_add((unsigned long *)p + 4 * WORDS, 1);
        if (i % 50 == 0) sched_yield();
    }
    fence();
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    p = (unsigned long *)map_file("f", 5 * WORDS * 8, 0, 0);
    struct sigaction action = {.sa_handler = on, .sa_flags = SA_ONSTACK};
    OK(sigaction(SIGUSR1, &action, NULL));
    action.sa_handler = jump;
    OK(sigaction(SIGUSR2, &action, NULL));
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


def test_threads_with_longjmp_and_signals(data: Path) -> None:
    run = trace(data, "#include <sched.h>\n" + THREADS)
    assert_explained(run)
    stores = run.events(Kind.STORE)
    size = 4096 * 8
    owners: dict[int, set[int]] = {}
    for event in stores:
        owners.setdefault(event.offset // size, set()).add(event.tid)
    assert [len(owners[i]) for i in range(4)] == [1, 1, 1, 1]  # each thread stored into its own part
    assert len(set.union(*(owners[i] for i in range(4)))) == 4
    assert owners[4] == set.union(*(owners[i] for i in range(4)))
    children = {event.extra for event in run.events(Kind.FORK)}
    assert owners[4] == children
    counts = [event for event in stores if event.offset == 4 * size]
    assert [int.from_bytes(event.data, "little") for event in counts] == list(range(1, 1201))


def test_each_thread_is_in_order_with_its_calls(data: Path) -> None:
    """Stores stand before the calls that followed them and behind those that came before, in every thread."""
    body = r"""
    static volatile unsigned char *p;
    static int fd;
    static void *work(void *argument) {
        long at = (long)argument;
        for (int i = 1; i <= 100; i++) {
            p[at * 64] = i;
            unsigned char said = i;
            OK(pwrite(fd, &said, 1, at));
        }
        return NULL;
    }
    int main(void) {
        pthread_t threads[4];
        p = map_file("f", 4096, 0, 0);
        fd = must(open("g", O_CREAT | O_WRONLY, 0600));
        for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        return 0;
    }"""
    run = trace(data, body)
    order: dict[int, list[tuple[Kind, int]]] = {}
    for event in run.events(Kind.STORE, Kind.WRITE):
        order.setdefault(event.tid, []).append((event.kind, event.data[0]))
    assert len(order) == 4
    for events in order.values():
        assert events == [(kind, i) for i in range(1, 101) for kind in (Kind.STORE, Kind.WRITE)]
    assert_explained(run)


def test_a_sync_by_another_process_comes_after_the_stores(data: Path) -> None:
    body = r"""
    int main(void) {
        volatile unsigned char *p = map_file("f", 4096, 0, 0);
        int there[2], back[2];
        char byte = 0;
        OK(pipe(there)); OK(pipe(back));
        if (fork() == 0) {
            for (int i = 0; i < 20; i++) {
                if (read(there[0], &byte, 1) != 1) _exit(1);
                OK(msync((void *)p, 4096, MS_SYNC));
                OK(write(back[1], &byte, 1));
            }
            _exit(0);
        }
        for (int i = 1; i <= 20; i++) {
            p[0] = i;
            OK(write(there[1], &byte, 1));
            if (read(back[0], &byte, 1) != 1) return 1;
        }
        wait(NULL);
        return 0;
    }"""
    run = trace(data, body)
    found = [event.data[0] if event.kind == Kind.STORE else 0 for event in run.events(Kind.STORE, Kind.MSYNC)]
    assert found == [value for i in range(1, 21) for value in (i, 0)]


def test_long_recordings(data: Path) -> None:
    """More records than the first rooms hold, of several processes at once, and threads that come and go."""
    body = r"""
    static volatile unsigned long *p;
    static void *work(void *argument) {
        for (int i = 0; i < 2000; i++) p[(long)argument * 2000 + i] = i;
        return NULL;
    }
    int main(void) {
        p = (unsigned long *)map_file("f", 1 << 20, 0, 0);
        for (int child = 0; child < 3; child++)
            if (fork() == 0) {
                for (long part = 0; part < 10; part++) {
                    pthread_t thread;
                    pthread_create(&thread, NULL, work, (void *)(child * 10 + part));
                    pthread_join(thread, NULL);
                }
                _exit(0);
            }
        while (wait(NULL) > 0) {}
        return 0;
    }"""
    run = trace(data, body)
    stores = run.events(Kind.STORE)
    assert len(stores) == 60_000
    for part in range(30):
        mine = [event for event in stores if event.offset // 16000 == part]
        assert [int.from_bytes(event.data, "little") for event in mine] == list(range(2000))
        assert len({event.tid for event in mine}) == 1
    assert len({event.pid for event in stores}) == 3
    assert_explained(run)
