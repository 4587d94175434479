/* The table of traced threads, by thread id. */
#ifndef POWERCUT_THREADS_H
#define POWERCUT_THREADS_H

#include "thread.h"

enum { PC_THREAD_BUCKETS = 1024 };

/* A zeroed table is empty. */
struct pc_threads {
    struct pc_thread *buckets[PC_THREAD_BUCKETS];
    struct pc_thread *spare; /* removed ones, to be used again: threads are large and come and go */
    unsigned count;
};

struct pc_thread *pc_threads_find(const struct pc_threads *threads, pid_t tid);
/* A new thread, running, in no call; NULL without memory. It must not be in the table. */
struct pc_thread *pc_threads_add(struct pc_threads *threads, pid_t tid, pid_t tgid);
/* The thread must be in no call and in no queue. */
void pc_threads_remove(struct pc_threads *threads, struct pc_thread *thread);
/* Any thread after `thread`, or the first one for NULL; NULL at the end. */
struct pc_thread *pc_threads_next(const struct pc_threads *threads, const struct pc_thread *thread);
void pc_threads_free(struct pc_threads *threads);

#endif
