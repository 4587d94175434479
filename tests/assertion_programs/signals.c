/* A program whose signal handler records, too: at a rate (words: rate MICROSECONDS ROUNDS; blocked: its only thread
 * takes no signals), or after every single instruction of what the program does (step ROUNDS, results ROUNDS,
 * jump ROUNDS). Each round of either makes its four or five records in one order, on memory of its own, and one
 * mistake in every eighth. */
#define _GNU_SOURCE
#include <powercut.h>

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static _Alignas(64) char outer[1 << 15], inner[1 << 12];
static volatile long handled;
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

int main(int count, char **words) {
    if (count < 3 || pc_init() != 0)
        return 3;
    long number = atol(words[count - 1]);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
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
