/* PMTest, figure 1b, with an undo log of our own: head and length change in one transaction, but only the
 * head was logged before.
 *
 * A power cut before the commit makes the recovery roll back: the head gets its old value, the length keeps
 * the new one. */
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
    pool->logged = 0; // LOST
    persist(&pool->logged, sizeof pool->logged);
}

static void append(struct pool *pool, uint64_t value) {
    uint64_t number = pool->length + 1;
    pool->node[number].next = pool->head;
    pool->node[number].value = value;
    persist(&pool->node[number], sizeof pool->node[number]);
    tx_add(pool, &pool->head);
    pool->head = number;
    pool->length++; // SURVIVED
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
