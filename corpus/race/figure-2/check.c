/* Nothing lies in a table where nobody looks for it: the next table holds at most copies of what this one
 * holds. */
#include "pool.h"

static int holds(struct table *table, uint64_t key) {
    return table->buckets && place(bucket_of(table, key), key);
}

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    uint64_t number = pool ? pool->current : 0;
    if (number > TABLES || (number && pool->table[number - 1].buckets != (uint64_t)FIRST << (number - 1)))
        refuse("the pool leads to table %lu, which is none", number);
    for (uint64_t key = 1; key <= KEYS; key++) {
        int found = number && holds(&pool->table[number - 1], key);
        for (uint64_t other = number + 1; number && other <= TABLES; other++)
            if (!found && holds(&pool->table[other - 1], key))
                refuse("key %lu lies in table %lu, and the pool leads to table %lu", key, other, number);
    }
    return 0;
}
