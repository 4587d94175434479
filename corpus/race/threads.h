/* What the programs of this folder share, besides ../memory/pm.h: threads that start together, and locks
 * whose words lie in the pool.
 *
 * A lock word is 0 when it is free. Taking it is a locked instruction, which is a fence, too; freeing it is a
 * plain store, which is none. */
#ifndef THREADS_H
#define THREADS_H

#include "../memory/pm.h"

#include <pthread.h>
#include <sched.h>

#define MOST_THREADS 8

/* Run a function in some threads, each with its number from 0 on, and wait for all of them. */
static inline void together(int count, void *(*run)(void *)) {
    pthread_t threads[MOST_THREADS];
    for (intptr_t i = 0; i < count; i++)
        need(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "pthread_create");
    for (int i = 0; i < count; i++)
        need(pthread_join(threads[i], NULL) == 0, "pthread_join");
}

static inline void lock(uint64_t *word) {
    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static inline void unlock(uint64_t *word) {
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

#endif
