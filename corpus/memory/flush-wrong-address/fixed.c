/* The fixed twin of buggy.c: the settings are persisted, not the pointer to them. */
#include "pool.h"

static void save(struct pool *pool, uint64_t version) {
    uint64_t place = pool->current == 1 ? 2 : 1;
    struct settings *new = &pool->settings[place - 1];
    new->version = version;
    new->limit = 10 * version;
    persist(new, sizeof *new);
    pool->current = place;
    persist(&pool->current, sizeof pool->current);
    say("saved %lu", version);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    save(pool, 1);
    save(pool, 2);
    return 0;
}
