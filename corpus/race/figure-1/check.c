/* The recovery frees the lock, whatever the power cut left there. Then y is never more than x. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        return 0;
    pool->g = 0;
    persist(&pool->g, sizeof pool->g);
    if (pool->y > pool->x)
        refuse("y is %lu, a copy of x, which is %lu", pool->y, pool->x);
    return 0;
}
