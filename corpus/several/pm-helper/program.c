/* One helper stores both pairs. */
#include "pool.h"

static void store(struct pair *pair, uint64_t number) {
    pair->left = number;  // LOST b
    pair->right = number; // LOST a b
    flush(&pair->left, mended('a') ? 128 : 64);
    fence();
    pair->used = 1; // SURVIVED a LOST b
    persist(&pair->used, 8);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    store(&pool->pair[0], 7);
    say("stored 0");
    if (!mended('b'))
        say("stored 1"); // ACKED b
    store(&pool->pair[1], 8); // LOST b
    if (mended('b'))
        say("stored 1");
    return 0;
}
