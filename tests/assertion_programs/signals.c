/* A program whose signal handler records, too: at a rate (words: rate MICROSECONDS ROUNDS; blocked: its only thread
 * takes no signals; threads COUNT MICROSECONDS SECONDS: each has a timer of its own), or after every single instruction of what the program does (step ROUNDS, results ROUNDS,
 * jump ROUNDS). Each round of either makes its four or five records in one order, on memory of its own, and one
 * mistake in every eighth. */
#define _GNU_SOURCE
#include <powercut.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MOST = 16, AT_ONCE = 1000 };

static _Thread_local _Alignas(64) char outer[1 << 15], inner[1 << 12];
static _Thread_local volatile long handled;
static volatile sig_atomic_t asks, jumps, stepping;
static volatile size_t answer;
static sigjmp_buf out;

static void on_signal(int number) {
    int mistake = handled++ % 8 == 0;
    char *object = inner + handled % 16 * 64;
    pc_write(object, 8); /* inner write */
    if (!mistake)
        pc_flush(object, 8); /* inner flush */
    pc_fence();              /* inner fence */
    pc_is_persistent(object, 8); /* inner assertion */
    if (asks && mistake)
        answer = pc_get_results(NULL, 0);
    if (jumps && handled % 997 == 0)
        siglongjmp(out, 1);
}

static inline __attribute__((always_inline)) void step(int on) {
    if (on)
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
    else
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
}

static void rounds(long count) {
    for (volatile long i = 0; i < count; i++) {
        char *object = outer + i % 128 * 128;
        if (stepping) {
            sigsetjmp(out, 1);
            step(1);
        }
        pc_write(object, 8); /* outer write */
        if (i % 8)
            pc_flush(object, 8); /* outer flush */
        pc_fence();              /* outer fence */
        pc_write(object + 64, 8); /* outer second */
        pc_is_ordered_before(object, 8, object + 64, 8); /* outer assertion */
        if (stepping)
            step(0);
    }
}

static double now(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static struct worker {
    pthread_t thread;
    long microseconds, handled, rounds;
    double end;
} workers[THREADS_MOST];

static void *work(void *given) {
    struct worker *worker = given;
    struct sigevent to_me = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    struct itimerspec often = {{0, worker->microseconds * 1000}, {0, worker->microseconds * 1000}};
    timer_t timer;
    to_me._sigev_un._tid = gettid();
    pc_start();
    pc_register_pool(outer, sizeof outer);
    pc_register_pool(inner, sizeof inner);
    on_signal(0);
    if (timer_create(CLOCK_MONOTONIC, &to_me, &timer) != 0)
        exit(4);
    timer_settime(timer, 0, &often, NULL);
    for (; now(CLOCK_MONOTONIC) < worker->end; worker->rounds += AT_ONCE)
        rounds(AT_ONCE);
    timer_delete(timer);
    pc_end();
    worker->handled = handled;
    return NULL;
}

/* How often signals were handled, the mistakes of handlers and of rounds, and the seconds that passed, also of the
 * processor. */
static int with_threads(int count, long microseconds, double seconds) {
    double began = now(CLOCK_MONOTONIC);
    long all = 0, mistakes = 0, made = 0;
    for (int i = 0; i < count && i < THREADS_MOST; i++) {
        workers[i] = (struct worker){.microseconds = microseconds, .end = began + seconds};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 4;
    }
    for (int i = 0; i < count && i < THREADS_MOST; i++) {
        pthread_join(workers[i].thread, NULL);
        all += workers[i].handled;
        mistakes += (workers[i].handled + 7) / 8;
        made += workers[i].rounds;
    }
    printf("%ld %ld %ld %f %f\n", all, mistakes, made / 8, now(CLOCK_MONOTONIC) - began, now(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}

int main(int count, char **words) {
    if (count < 3 || pc_init() != 0)
        return 3;
    long number = atol(words[count - 1]);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    if (count == 5 && strcmp(words[1], "threads") == 0)
        return with_threads(atoi(words[2]), atol(words[3]), atof(words[4]));
    asks = strcmp(words[1], "results") == 0;
    jumps = strcmp(words[1], "jump") == 0;
    bool blocked = strcmp(words[1], "blocked") == 0, timed = blocked || strcmp(words[1], "rate") == 0;
    if (blocked) {
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        sigprocmask(SIG_BLOCK, &alarm, NULL);
    }
    if (timed) {
        struct itimerval often = {{0, atol(words[2])}, {0, atol(words[2])}};
        setitimer(ITIMER_REAL, &often, NULL);
    }
    pc_start();
    pc_register_pool(outer, sizeof outer);
    pc_register_pool(inner, sizeof inner);
    if (!blocked)
        on_signal(0); /* so that all places are known: no lock is taken for them */
    rounds(2);
    stepping = !timed;
    rounds(number);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    pc_end();
    printf("%ld %zu\n", handled, answer);
    return 0;
}
