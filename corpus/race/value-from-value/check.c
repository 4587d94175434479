/* No item is more than item 0, of which it was made. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    for (int i = 1; pool && i < ITEMS; i++)
        if (pool->item[i].value > pool->item[0].value)
            refuse("item %d is %lu, and item 0 only %lu", i, pool->item[i].value, pool->item[0].value);
    return 0;
}
