/* Numbers are stored in lines of their own, and counted; their total comes last. */
#include "../several.h"

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    uint64_t *pool = pool_open(argv[1], "pool", 5 * 64);
    for (uint64_t i = 0; i < 3; i++) {
        pool[8 * i] = i + 1; // LOST a
        flush(&pool[8 * i], 8);
        if (mended('a'))
            fence();
        pool[32] = i + 1; // SURVIVED a
        persist(&pool[32], 8);
    }
    pool[24] = 6; // LOST b
    if (mended('b'))
        persist(&pool[24], 8);
    say("total"); // ACKED b
    return 0;
}
