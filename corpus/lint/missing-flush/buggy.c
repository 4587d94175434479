/* The name is persisted; the state beside it changes later and is not. */
#include "../../memory/pm.h"

struct pool {
    uint64_t name, state;
};

static void rename_to(struct pool *pool, uint64_t name) {
    pool->name = name;
    persist(&pool->name, sizeof pool->name);
}

static void finish(struct pool *pool) {
    pool->state = 1; // HERE
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    rename_to(pool, 5);
    finish(pool);
    return 0;
}
