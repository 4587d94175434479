/* The fixed twin of buggy.c: the fence is enough. */
#include "../../memory/pm.h"

struct pool {
    uint64_t number;
};

static void store_around_cache(uint64_t *place, uint64_t value) {
    __asm__ volatile("movnti %1, %0" : "=m"(*place) : "r"(value) : "memory");
}

static void set(struct pool *pool, uint64_t number) {
    store_around_cache(&pool->number, number);
    fence();
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    set(pool, 5);
    set(pool, 7);
    return 0;
}
