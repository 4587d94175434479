/* The fixed twin of buggy.c: the sum is stored when it is final. */
#include "../../memory/pm.h"

struct pool {
    uint64_t number;
};

static void add_all(struct pool *pool, const uint64_t *numbers, size_t count) {
    uint64_t sum = pool->number;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i];
    pool->number = sum;
    persist(&pool->number, sizeof pool->number);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    add_all(pool, (uint64_t[]){5, 6, 7}, 3);
    return 0;
}
