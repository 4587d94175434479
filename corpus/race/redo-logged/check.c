/* The recovery carries out what is committed. Then y is never more than x. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        return 0;
    if (pool->committed) {
        pool->y = pool->record;
        persist(&pool->y, sizeof pool->y);
    }
    if (pool->y > pool->x)
        refuse("y is %lu, a copy of x, which is %lu", pool->y, pool->x);
    return 0;
}
