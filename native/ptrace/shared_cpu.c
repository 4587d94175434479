/* See shared_cpu.h. */
#define _GNU_SOURCE
#include "shared_cpu.h"

#include <sys/syscall.h>

#include "turns.h"

enum {
    OFTEN = 128,        /* stops in a row */
    WITHIN = 32,        /* milliseconds */
    AT_MOST = 16 * 1024 /* stops, until the scheduler has a say again */
};

/* Gives both their processors back. Either may be gone. */
static void part(struct pc_shared_cpu *shared) {
    if (shared->tid == 0)
        return;
    (void)sched_setaffinity(shared->tid, sizeof(shared->of_thread), &shared->of_thread);
    (void)sched_setaffinity(0, sizeof(shared->of_tracer), &shared->of_tracer);
    shared->tid = 0;
    shared->last = 0;
}

/* Puts a stopped thread on the processor that the tracer runs on. */
static void share(struct pc_shared_cpu *shared, pid_t tid) {
    cpu_set_t one;
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof(shared->of_tracer), &shared->of_tracer) != 0 ||
        CPU_COUNT(&shared->of_tracer) < 2 ||
        sched_getaffinity(tid, sizeof(shared->of_thread), &shared->of_thread) != 0) {
        shared->off = true;
        return;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (!CPU_ISSET(cpu, &shared->of_thread) || sched_setaffinity(tid, sizeof(one), &one) != 0)
        return;
    shared->tid = tid;
    (void)sched_setaffinity(0, sizeof(one), &one);
}

/* Whether a thread now stops so often that it should share. */
static bool is_often(struct pc_shared_cpu *shared, pid_t tid) {
    if (tid != shared->last) {
        shared->last = tid;
        shared->stops = 0;
    }
    if (shared->stops++ == 0)
        shared->since = pc_now();
    if (shared->stops < OFTEN)
        return false;
    shared->stops = 0;
    return pc_now() - shared->since <= WITHIN;
}

void pc_shared_cpu_at_entry(struct pc_shared_cpu *shared, pid_t tid, uint64_t number) {
    if (shared->off)
        return;
    if (number == SYS_sched_getaffinity || number == SYS_sched_setaffinity) {
        part(shared);
        shared->off = number == SYS_sched_setaffinity;
    } else if (tid == shared->tid) {
        if (++shared->stops > AT_MOST)
            part(shared);
    } else if (is_often(shared, tid)) {
        part(shared);
        share(shared, tid);
    }
}

void pc_shared_cpu_started(struct pc_shared_cpu *shared, pid_t parent, pid_t child) {
    if (parent != shared->tid)
        return;
    (void)sched_setaffinity(child, sizeof(shared->of_thread), &shared->of_thread);
    part(shared);
}

void pc_shared_cpu_executes(struct pc_shared_cpu *shared, pid_t former, pid_t tid) {
    if (shared->tid == 0 || (shared->tid != former && shared->tid != tid))
        return;
    shared->tid = tid;
    part(shared);
}

void pc_shared_cpu_gone(struct pc_shared_cpu *shared, pid_t tid) {
    if (tid == shared->tid)
        part(shared);
}
