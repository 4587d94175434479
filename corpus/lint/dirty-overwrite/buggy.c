/* Each step overwrites a sum that was never persistent; only the last one is flushed. */
#include "../../memory/pm.h"

struct pool {
    uint64_t number;
};

static void add_all(struct pool *pool, const uint64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        __asm__ volatile("" : : : "memory"); /* or the compiler would do what the twin does */
        pool->number += numbers[i]; // HERE
    }
    persist(&pool->number, sizeof pool->number);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    add_all(pool, (uint64_t[]){5, 6, 7}, 3);
    return 0;
}
