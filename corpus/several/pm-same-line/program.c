/* Two words, and two flags that say that they are there; each in a line of its own. */
#include "../several.h"

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    uint64_t *pool = pool_open(argv[1], "pool", 4 * 64);
    pool[0] = 1, pool[8] = 1; // LOST a b
    if (mended('a'))
        persist(&pool[0], 8);
    if (mended('b'))
        persist(&pool[8], 8);
    pool[16] = 1, pool[24] = 1; // SURVIVED a b
    persist(&pool[16], 128);
    return 0;
}
