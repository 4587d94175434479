/* The fixed twin of buggy.c: the bits and the counter share a word, so one store changes both. */
#include "pool.h"

static void add(struct pool *pool, uint64_t number) {
    uint32_t place = pool->header.count;
    pool->number[place] = number;
    persist(&pool->number[place], sizeof number);
    union header next = {.used = pool->header.used | 1u << place, .count = place + 1};
    pool->header.word = next.word;
    persist(&pool->header, sizeof pool->header);
    say("added %lu", number);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    add(pool, 101);
    add(pool, 102);
    add(pool, 103);
    return 0;
}
