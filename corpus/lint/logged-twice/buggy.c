/* The balance goes into the undo log twice, so the commit flushes it twice. */
#include "../../memory/pm.h"

struct entry {
    uint64_t place, old;
    uint64_t unused[6];
};

struct pool {
    uint64_t logged;
    uint64_t unused[7];
    uint64_t balance;
    uint64_t unused2[7];
    struct entry log[4];
};

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
        persist((char *)pool + pool->log[i].place, sizeof(uint64_t)); // HERE
    pool->logged = 0;
    persist(&pool->logged, sizeof pool->logged);
}

static void pay(struct pool *pool, uint64_t sum, uint64_t fee) {
    tx_add(pool, &pool->balance);
    uint64_t balance = pool->balance + sum;
    tx_add(pool, &pool->balance);
    pool->balance = balance - fee;
    tx_commit(pool);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    pay(pool, 50, 1);
    pay(pool, 70, 2);
    return 0;
}
