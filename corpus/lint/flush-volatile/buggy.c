/* The entry is put together on the stack and persisted there, too, which nothing survives on. The fence has nothing to
 * wait for. */
#include "../../memory/pm.h"

struct entry {
    uint64_t key, value;
};

struct pool {
    struct entry entry;
};

static void put(struct pool *pool, uint64_t key, uint64_t value) {
    struct entry entry = {key, value};
    persist(&entry, sizeof entry); // HERE
    pool->entry = entry;
    persist(&pool->entry, sizeof pool->entry);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    put(pool, 5, 50);
    put(pool, 7, 70);
    return 0;
}
