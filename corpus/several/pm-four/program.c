/* Fields of a record, each in a line of its own. */
#include "../several.h"

enum { NAME = 0, NAMED = 8, SIZE = 16, SIZED = 24, OWNER = 32, MODE = 40, WORDS = 48 };

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    uint64_t *pool = pool_open(argv[1], "pool", WORDS * 8);
    pool[NAME] = 1; // LOST a
    if (mended('a'))
        persist(&pool[NAME], 8);
    pool[NAMED] = 1; // SURVIVED a
    persist(&pool[NAMED], 8);
    pool[SIZE] = 1; // LOST b
    if (mended('b'))
        persist(&pool[SIZE], 8);
    pool[SIZED] = 1; // SURVIVED b
    persist(&pool[SIZED], 8);
    pool[OWNER] = 1; // LOST c
    if (mended('c'))
        persist(&pool[OWNER], 8);
    say("owned"); // ACKED c
    if (!mended('d'))
        say("locked"); // ACKED d
    pool[MODE] = 1; // LOST d
    persist(&pool[MODE], 8);
    if (mended('d'))
        say("locked");
    return 0;
}
