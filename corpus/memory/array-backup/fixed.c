/* The fixed twin of buggy.c: four barriers. Each step is durable before the next one begins. */
#include "pool.h"

static void update(struct pool *pool, uint64_t index, uint64_t version) {
    struct item *item = &pool->array[index];
    pool->backup.value = item->value;
    pool->backup.again = item->again;
    persist(&pool->backup, sizeof pool->backup);
    pool->valid = index + 1;
    persist(&pool->valid, sizeof pool->valid);
    item->value = value_of(index, version);
    item->again = value_of(index, version);
    persist(item, sizeof *item);
    pool->valid = 0;
    persist(&pool->valid, sizeof pool->valid);
    say("updated %lu %lu", index, version);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    update(pool, 0, 1);
    update(pool, 1, 1);
    update(pool, 0, 2);
    return 0;
}
