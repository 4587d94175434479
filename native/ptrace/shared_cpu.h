/* Tracer and traced thread on one processor.
 *
 * While a call is looked at, either the thread runs or the tracer, never both. On two processors each turn
 * wakes an idle one, which takes several times as long as the look itself. So a thread that stops again and
 * again is put on the tracer's processor.
 *
 * Before and after: both may run where they were allowed to. In between, one thread at a time shares; it gets
 * its processors back before it asks for them, starts a thread or process, or executes another program, and
 * after some thousand stops, when the scheduler may find a better place. A program that chooses processors
 * itself is left alone from then on. */
#ifndef POWERCUT_SHARED_CPU_H
#define POWERCUT_SHARED_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Zeroed: nobody shares. */
struct pc_shared_cpu {
    pid_t tid;           /* the thread that shares; 0: none does */
    cpu_set_t of_tracer; /* where the tracer may run */
    cpu_set_t of_thread; /* where the thread may run */
    pid_t last;          /* whose stops are counted */
    uint32_t stops;      /* without one of another thread between */
    uint64_t since;      /* milliseconds */
    bool off;            /* for good */
};

/* A thread stands at the entry of the call with that number. */
void pc_shared_cpu_at_entry(struct pc_shared_cpu *shared, pid_t tid, uint64_t number);
/* A thread has started another one, which has not run yet. */
void pc_shared_cpu_started(struct pc_shared_cpu *shared, pid_t parent, pid_t child);
/* A thread executes another program; it was `former` until now. */
void pc_shared_cpu_executes(struct pc_shared_cpu *shared, pid_t former, pid_t tid);
/* A thread is gone. */
void pc_shared_cpu_gone(struct pc_shared_cpu *shared, pid_t tid);

#endif
