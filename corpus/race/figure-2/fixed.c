/* The fixed twin of buggy.c: whoever reads the pointer to the table makes it durable before the table
 * changes. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t locks[TABLES][FIRST << TABLES], resizing = PTHREAD_MUTEX_INITIALIZER;

static void make(struct table *table, uint64_t buckets) {
    table->buckets = buckets;
    persist(&table->buckets, sizeof table->buckets);
}

/* Copy all keys to the next table, while nobody can write to this one, and lead the pool there. */
static void resize(uint64_t number) {
    struct table *old = &pool->table[number - 1], *new = old + 1;
    need(number < TABLES, "the table is too small for a larger one");
    for (uint64_t i = 0; i < old->buckets; i++)
        pthread_mutex_lock(&locks[number - 1][i]);
    make(new, 2 * old->buckets);
    for (uint64_t i = 0; i < old->buckets; i++)
        for (int way = 0; way < WAYS; way++)
            if (old->bucket[i].key[way])
                *place(bucket_of(new, old->bucket[i].key[way]), 0) = old->bucket[i].key[way];
    persist(new->bucket, new->buckets * sizeof *new->bucket);
    __atomic_store_n(&pool->current, number + 1, __ATOMIC_RELEASE);
    persist(&pool->current, sizeof pool->current);
    for (uint64_t i = 0; i < old->buckets; i++)
        pthread_mutex_unlock(&locks[number - 1][i]);
}

/* Whether a key could be inserted: its bucket may be full, or the table an old one. */
static int try_insert(uint64_t number, uint64_t key) {
    struct table *table = &pool->table[number - 1];
    struct bucket *bucket = bucket_of(table, key);
    pthread_mutex_t *lock = &locks[number - 1][bucket - table->bucket];
    pthread_mutex_lock(lock);
    uint64_t *free = place(bucket, 0);
    int can = free && __atomic_load_n(&pool->current, __ATOMIC_ACQUIRE) == number;
    if (can) {
        *free = key;
        persist(free, sizeof *free);
    }
    pthread_mutex_unlock(lock);
    return can;
}

static void insert(uint64_t key) {
    for (;;) {
        uint64_t number = __atomic_load_n(&pool->current, __ATOMIC_ACQUIRE);
        persist(&pool->current, sizeof pool->current);
        if (try_insert(number, key))
            break;
        pthread_mutex_lock(&resizing);
        if (pool->current == number)
            resize(number);
        pthread_mutex_unlock(&resizing);
    }
}

static void *run(void *number) {
    for (uint64_t i = 0; i < KEYS / WRITERS; i++)
        insert(1 + i * WRITERS + (uint64_t)number);
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    for (int i = 0; i < TABLES * (FIRST << TABLES); i++)
        pthread_mutex_init(&locks[0][i], NULL);
    if (!pool->current) {
        make(&pool->table[0], FIRST);
        pool->current = 1;
        persist(&pool->current, sizeof pool->current);
    }
    together(WRITERS, run);
    return 0;
}
