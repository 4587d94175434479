/* The pool: where the map begins, and arenas from which each thread takes memory for itself.
 *
 * Memory is never given back: what a power cut left without a link to it is lost, and what is taken anew was
 * never written before. An object is found by its offset in the pool; 0 is none. */
#pragma once

#include "../threads.h"
#include "fault.h"

#include <stdbool.h>

enum { ARENAS = MOST_THREADS + 1, ARENA_LINES = 6144 };

struct arena {
    _Alignas(LINE) uint64_t used; /* lines */
};

struct pool {
    _Alignas(LINE) uint64_t root;     /* the table, or the top node of the tree; 0: nothing is made yet */
    _Alignas(LINE) uint64_t building; /* the table to which another one is being copied; 0: none */
    _Alignas(LINE)
        uint64_t capacity; /* keys for which the table, or the one that is built, has a place of its own */
    struct arena arena[ARENAS]; /* the first one is for the time without threads */
    _Alignas(LINE) char space[ARENAS][(size_t)ARENA_LINES * LINE];
};

extern struct pool *pool;

/* A thread: the number of its arena, and the root that it knows to be durable. */
struct worker {
    int arena;
    uint64_t root;
};

static inline void *at(uint64_t offset) {
    return (char *)pool + offset;
}

static inline uint64_t offset_of(const void *object) {
    return (uint64_t)((const char *)object - (const char *)pool);
}

/* New memory, all zeros. It is durable that it is taken. */
void *take(struct worker *self, size_t size);

/* The root, which is durable when this returns: whatever is done next may depend on it. */
uint64_t durable_root(struct worker *self);

/* For the check: whether an object lies whole in memory that is taken. */
bool is_taken(uint64_t offset, size_t size);
