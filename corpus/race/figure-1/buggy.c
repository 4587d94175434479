/* Figure 1 of the PMRace paper. One thread stores x and flushes it when the lock is free again; the other can
 * copy x to y, and persist y, in between. After a power cut y is there, and x is not. */
#include "pool.h"

static struct pool *pool;

static void *grow(void *unused) {
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        lock(&pool->g);
        pool->x = round; // WRITE
        unlock(&pool->g);
        persist(&pool->x, sizeof pool->x);
    }
    return unused;
}

static void *copy(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        lock(&pool->g);
        pool->y = pool->x; // READ EFFECT
        persist(&pool->y, sizeof pool->y);
        unlock(&pool->g);
    }
    return unused;
}

static void *run(void *number) {
    return number ? copy(NULL) : grow(NULL);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    together(2, run);
    return 0;
}
