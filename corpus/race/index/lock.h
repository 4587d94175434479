/* Locks in the pool. A reader needs none, but whatever it read under a taken lock may not be durable. */
#pragma once

#include "pool.h"

static inline void acquire(uint64_t *word) {
    uint64_t free = 0;
    while (!__atomic_compare_exchange_n(word, &free, 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) { // LOCK
        free = 0;
        sched_yield();
    }
}

static inline void release(uint64_t *word) {
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

/* A writer persists what it stored before it frees the lock. So what was read before the lock was seen free
 * is durable; else somebody must make it so. */
static inline bool may_be_lost(const uint64_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
}
