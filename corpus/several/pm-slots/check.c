/* A slot that is used holds its value; one that was said to be stored is used. */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    for (int i = 0; i < 2; i++) {
        if (pool->slot[i].used && pool->slot[i].value != 101 + (uint64_t)i)
            refuse("slot %d holds %lu", i, pool->slot[i].value);
        if (!pool->slot[i].used && said("stored %d", i))
            refuse("slot %d was stored and is gone", i);
    }
    return 0;
}
