/* A counter that is kept beside the data it counts (Level hashing's item counter): data and counter change
 * one after the other.
 *
 * A power cut between the two stores leaves a bag that counts fewer numbers than it holds. */
#include "pool.h"

static void add(struct pool *pool, uint64_t number) {
    uint32_t place = pool->header.count;
    pool->number[place] = number;
    persist(&pool->number[place], sizeof number);
    pool->header.used |= 1u << place; // SURVIVED
    pool->header.count = place + 1;   // LOST
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
