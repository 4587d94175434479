/* The number before the hint is one that was appended: a hint that is not true is repaired by whoever comes
 * by. */
#include "pool.h"

static uint64_t good_hint(struct pool *pool) {
    if (pool->hint > pool->count) {
        pool->hint = pool->count;
        persist(&pool->hint, sizeof pool->hint);
    }
    return pool->hint;
}

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    uint64_t hint = pool ? good_hint(pool) : 0;
    if (hint > MOST || (hint && pool->number[hint - 1] != 100 + hint))
        refuse("the hint leads to number %lu of %lu", hint, pool->count);
    return 0;
}
