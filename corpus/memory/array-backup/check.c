/* Recovery puts a valid backup back. Then every item is whole, and of the last version or the one being
 * written. */
#include "pool.h"

static void recover(struct pool *pool) {
    if (!pool->valid)
        return;
    if (pool->valid > 2)
        refuse("the backup is of item %lu", pool->valid - 1);
    struct item *item = &pool->array[pool->valid - 1];
    *item = pool->backup;
    persist(item, sizeof *item);
    pool->valid = 0;
    persist(&pool->valid, sizeof pool->valid);
}

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    recover(pool);
    for (uint64_t index = 0; index < 2; index++) {
        struct item item = pool->array[index];
        uint64_t version = 0;
        while (said("updated %lu %lu", index, version + 1))
            version++;
        if (item.value != item.again)
            refuse("item %lu is torn: %lu and %lu", index, item.value, item.again);
        uint64_t last = version;
        while (version < 2 && item.value != value_of(index, version))
            version++;
        if (item.value != value_of(index, version))
            refuse("item %lu was updated to version %lu and is %lu", index, last, item.value);
    }
    return 0;
}
