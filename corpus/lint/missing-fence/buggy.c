/* The line is on its way when the program ends; nothing says that it arrives. */
#include "../../memory/pm.h"

struct pool {
    uint64_t number;
};

static void set(struct pool *pool, uint64_t number) {
    pool->number = number; // HERE
    flush(&pool->number, sizeof pool->number);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    set(pool, 5);
    _exit(0); /* at once: locked instructions of an orderly exit would be fences, too */
}
