/* How many numbers were looked at is of no use after a restart, and never flushed: it only costs time in there. */
#include "../../memory/pm.h"

struct pool {
    uint64_t largest;
    uint64_t unused[7];
    uint64_t looked_at; /* in a cache line of its own */
};

static void look(struct pool *pool, uint64_t number) {
    pool->looked_at++; // HERE
    if (number > pool->largest) {
        pool->largest = number;
        persist(&pool->largest, sizeof pool->largest);
    }
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    for (uint64_t number = 1; number < 9; number++)
        look(pool, number);
    return 0;
}
