/* The pool: memory for each thread, and the root. */
#include "pool.h"

struct pool *pool;

void *take(struct worker *self, size_t size) {
    struct arena *arena = &pool->arena[self->arena];
    uint64_t used = __atomic_load_n(&arena->used, __ATOMIC_RELAXED), lines = (size + LINE - 1) / LINE;
    need(used + lines <= ARENA_LINES, "the pool is full");
    __atomic_store_n(&arena->used, used + lines, __ATOMIC_RELAXED);
    persist(&arena->used, sizeof arena->used);
    return pool->space[self->arena] + used * LINE;
}

uint64_t durable_root(struct worker *self) {
    uint64_t root = __atomic_load_n(&pool->root, __ATOMIC_ACQUIRE); // READ table-pointer
    if (root != self->root && !has_bug(BUG_TABLE_POINTER)) {
        persist(&pool->root, sizeof pool->root);
        self->root = root;
    }
    return root;
}

bool is_taken(uint64_t offset, size_t size) {
    const size_t arena_size = sizeof pool->space[0];
    uint64_t start = offset_of(pool->space);
    if (offset % LINE || offset < start || offset >= start + sizeof pool->space)
        return false;
    uint64_t arena = (offset - start) / arena_size, inside = (offset - start) % arena_size;
    return inside + size <= pool->arena[arena].used * LINE && pool->arena[arena].used <= ARENA_LINES;
}
