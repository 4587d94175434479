/* A hash table with chains, one of its own (not hash_table.h): threads must not move, are walked while some
 * are removed, and are used again. Thread ids are dense, so the id itself is the hash. */
#include "threads.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pc_thread **bucket_of(const struct pc_threads *threads, pid_t tid) {
    return (struct pc_thread **)&threads->buckets[(unsigned)tid % PC_THREAD_BUCKETS];
}

struct pc_thread *pc_threads_find(const struct pc_threads *threads, pid_t tid) {
    struct pc_thread *thread = *bucket_of(threads, tid);
    while (thread != NULL && thread->tid != tid)
        thread = thread->next_in_bucket;
    return thread;
}

struct pc_thread *pc_threads_add(struct pc_threads *threads, pid_t tid, pid_t tgid) {
    struct pc_thread *thread = threads->spare;
    if (thread != NULL)
        threads->spare = thread->next_in_bucket;
    else if ((thread = malloc(sizeof(*thread))) == NULL)
        return NULL;
    memset(thread, 0, sizeof(*thread));
    thread->tid = tid;
    thread->tgid = tgid;
    thread->pidfd = -1;
    thread->call.fd = thread->call.source = -1;
    thread->call.from.parent = thread->call.to.parent = -1;
    struct pc_thread **bucket = bucket_of(threads, tid);
    thread->next_in_bucket = *bucket;
    *bucket = thread;
    threads->count++;
    return thread;
}

void pc_threads_remove(struct pc_threads *threads, struct pc_thread *thread) {
    struct pc_thread **link = bucket_of(threads, thread->tid);
    while (*link != thread)
        link = &(*link)->next_in_bucket;
    *link = thread->next_in_bucket;
    if (thread->pidfd >= 0)
        close(thread->pidfd);
    thread->next_in_bucket = threads->spare;
    threads->spare = thread;
    threads->count--;
}

struct pc_thread *pc_threads_next(const struct pc_threads *threads, const struct pc_thread *thread) {
    unsigned bucket = 0;
    if (thread != NULL) {
        if (thread->next_in_bucket != NULL)
            return thread->next_in_bucket;
        bucket = (unsigned)thread->tid % PC_THREAD_BUCKETS + 1;
    }
    for (; bucket < PC_THREAD_BUCKETS; bucket++) {
        if (threads->buckets[bucket] != NULL)
            return threads->buckets[bucket];
    }
    return NULL;
}

void pc_threads_free(struct pc_threads *threads) {
    struct pc_thread *thread;
    while ((thread = pc_threads_next(threads, NULL)) != NULL)
        pc_threads_remove(threads, thread);
    while ((thread = threads->spare) != NULL) {
        threads->spare = thread->next_in_bucket;
        free(thread);
    }
}
