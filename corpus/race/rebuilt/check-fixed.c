/* The index is built anew: then it holds nothing that its item has never been. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    for (int i = 0; pool && i < ITEMS; i++)
        pool->index[i].value = pool->item[i].value;
    if (pool)
        persist(pool->index, sizeof pool->index);
    for (int i = 0; pool && i < ITEMS; i++)
        if (pool->index[i].value > pool->item[i].value)
            refuse("the index says %lu, and item %d is %lu", pool->index[i].value, i, pool->item[i].value);
    return 0;
}
