/* Recovery drops the old copy of an item that was being moved. Then the inserted item is there, whole. */
#include "pool.h"

static int holds(const struct bucket *bucket) {
    if (bucket->token && (bucket->key != 21 || bucket->value != value_of(21)))
        refuse("a bucket in use holds key %lu, value %lu", bucket->key, bucket->value);
    return bucket->token != 0;
}

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (pool && holds(&pool->bottom) && holds(&pool->top)) {
        pool->bottom.token = 0;
        persist(&pool->bottom.token, sizeof pool->bottom.token);
    }
    if (said("inserted 21") && !(pool && (holds(&pool->bottom) || holds(&pool->top))))
        refuse("key 21 was inserted and is gone");
    return 0;
}
