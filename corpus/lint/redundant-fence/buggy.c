/* persist() has fenced already; the second fence waits for nothing. */
#include "../../memory/pm.h"

struct pool {
    uint64_t number;
};

static void set(struct pool *pool, uint64_t number) {
    pool->number = number;
    persist(&pool->number, sizeof pool->number);
    fence(); // HERE
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    set(pool, 5);
    set(pool, 7);
    return 0;
}
