/* The number before the hint is one that was appended: the hint is believed. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (pool && (pool->hint > MOST || pool->hint > pool->count))
        refuse("the hint leads to number %lu of %lu", pool->hint, pool->count);
    return 0;
}
