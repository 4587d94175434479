/* A node is linked; then the range moves. */
#include "pool.h"

static void insert(struct pool *pool) {
    pool->value = 55; // LOST a
    if (mended('a'))
        persist(&pool->value, 8);
    pool->head = 1; // SURVIVED a
    persist(pool, 128);
}

static void move(struct pool *pool) {
    if (mended('b')) {
        pool->first = 1ul << 32 | 1; /* both in one word */
    } else {
        pool->first = 1; // SURVIVED b LOST b
        persist(&pool->first, 8);
        pool->last = 1; // LOST b SURVIVED b
        persist(&pool->last, 8);
    }
    persist(&pool->first, 128);
    say("moved");
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    insert(pool);
    move(pool);
    return 0;
}
