/* Once the table is filled, every key is found in the table in use, with its value. */
#include "pool.h"

static int holds(struct pool *pool, uint64_t key) {
    struct table *table = &pool->table[pool->current];
    if (!table->first || table->first > 3 || table->buckets > 2)
        return 0;
    for (uint64_t at = table->first + key % table->buckets; at && at < 8; at = pool->bucket[at].next)
        for (int i = 0; i < 3; i++)
            if (pool->bucket[at].key[i] == key && pool->bucket[at].value[i] == value_of(key))
                return 1;
    return 0;
}

int main(void) {
    static const uint64_t keys[5] = {1, 3, 5, 7, 2};
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!said("filled"))
        return 0;
    if (!pool || pool->current > 1)
        refuse("there is no table");
    for (int i = 0; i < 5; i++)
        if (!holds(pool, keys[i]))
            refuse("key %lu is gone from table %lu", keys[i], pool->current);
    return 0;
}
