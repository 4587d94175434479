/* The fixed twin of buggy.c: the length is logged, too, before it changes. */
#include "pool.h"

static void tx_add(struct pool *pool, uint64_t *word) {
    struct entry *entry = &pool->log[pool->logged];
    entry->place = (uint64_t)((char *)word - (char *)pool);
    entry->old = *word;
    persist(entry, sizeof *entry);
    pool->logged++;
    persist(&pool->logged, sizeof pool->logged);
}

static void tx_commit(struct pool *pool) {
    for (uint64_t i = 0; i < pool->logged; i++)
        persist((char *)pool + pool->log[i].place, sizeof(uint64_t));
    pool->logged = 0;
    persist(&pool->logged, sizeof pool->logged);
}

static void append(struct pool *pool, uint64_t value) {
    uint64_t number = pool->length + 1;
    pool->node[number].next = pool->head;
    pool->node[number].value = value;
    persist(&pool->node[number], sizeof pool->node[number]);
    tx_add(pool, &pool->head);
    tx_add(pool, &pool->length);
    pool->head = number;
    pool->length++;
    tx_commit(pool);
    say("appended %lu", value);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    append(pool, 101);
    append(pool, 102);
    return 0;
}
