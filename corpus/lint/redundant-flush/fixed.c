/* The fixed twin of buggy.c: the line is flushed once. */
#include "../../memory/pm.h"

struct pool {
    uint64_t count, sum; /* in one cache line */
    uint64_t unused[6];
};

static void add(struct pool *pool, uint64_t number) {
    pool->count++;
    pool->sum += number;
    persist(pool, sizeof *pool);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    add(pool, 5);
    add(pool, 7);
    return 0;
}
