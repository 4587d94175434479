/* P-CLHT, resize: the new table is flushed bucket by bucket, with all that hangs on each bucket. But the
 * recursion goes on from where the loop began, not from where it stands: the chain of the first bucket is
 * flushed again and again, the other chains never.
 *
 * The power cut keeps the new table and takes keys that were moved into the overflow bucket of its second
 * bucket. */
#include "pool.h"

static void flush_chains(struct pool *pool, struct bucket *data, size_t count) {
    for (struct bucket *bucket = data; bucket < data + count; bucket++) {
        flush(bucket, sizeof *bucket);
        if (data->next)
            flush_chains(pool, &pool->bucket[data->next], 1);
    }
}

/* Put an item into a table that nobody can see yet; the caller flushes. */
static void put(struct pool *pool, struct table *table, uint64_t *unused, uint64_t key) {
    struct bucket *bucket = &pool->bucket[table->first + key % table->buckets];
    while (bucket->key[2]) {
        if (!bucket->next)
            bucket->next = (*unused)++;
        bucket = &pool->bucket[bucket->next];
    }
    int i = bucket->key[0] ? bucket->key[1] ? 2 : 1 : 0;
    bucket->value[i] = value_of(key); // LOST
    bucket->key[i] = key;             // LOST
}

static void publish(struct pool *pool, uint64_t number) {
    struct table *table = &pool->table[number];
    flush_chains(pool, &pool->bucket[table->first], table->buckets);
    persist(table, sizeof *table);
    pool->current = number; // SURVIVED
    persist(&pool->current, sizeof pool->current);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    static const uint64_t keys[5] = {1, 3, 5, 7, 2};
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    uint64_t unused = 2;

    pool->table[0] = (struct table){.first = 1, .buckets = 1};
    for (int i = 0; i < 5; i++)
        put(pool, &pool->table[0], &unused, keys[i]);
    publish(pool, 0);
    say("filled");

    pool->table[1] = (struct table){.first = 3, .buckets = 2};
    unused = 5;
    for (int i = 0; i < 5; i++)
        put(pool, &pool->table[1], &unused, keys[i]);
    publish(pool, 1);
    say("resized");
    return 0;
}
