/* New settings are written beside the current ones and made current. There is a persist in the right place,
 * with the wrong address: that of the pointer, on the stack, instead of what it points at.
 *
 * The new settings are never flushed. The power cut keeps the switch and takes what was switched to. */
#include "pool.h"

static void save(struct pool *pool, uint64_t version) {
    uint64_t place = pool->current == 1 ? 2 : 1;
    struct settings *new = &pool->settings[place - 1];
    new->version = version;    // LOST
    new->limit = 10 * version; // LOST
    persist(&new, sizeof new);
    pool->current = place; // SURVIVED
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
