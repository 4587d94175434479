/* Nothing is recovered. y is never more than x, and the lock is free, or nobody will ever get it. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        return 0;
    if (pool->y > pool->x)
        refuse("y is %lu, a copy of x, which is %lu", pool->y, pool->x);
    if (pool->g)
        refuse("the lock is taken");
    return 0;
}
