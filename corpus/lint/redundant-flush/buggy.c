/* Both words lie in one cache line: the second flush finds nothing left to write back. */
#include "../../memory/pm.h"

struct pool {
    uint64_t count, sum; /* in one cache line */
    uint64_t unused[6];
};

static void add(struct pool *pool, uint64_t number) {
    pool->count++;
    pool->sum += number;
    persist(&pool->count, sizeof pool->count);
    persist(&pool->sum, sizeof pool->sum); // HERE
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    add(pool, 5);
    add(pool, 7);
    return 0;
}
