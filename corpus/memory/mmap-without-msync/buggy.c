/* A store into a mapped file is taken for durable: nothing syncs it before it is confirmed.
 *
 * The page is still in memory. The power cut takes what the user was told is saved. */
#include "pool.h"

static void set(uint64_t *table, int place, uint64_t number) {
    table[place] = number;            // LOST
    say("set %d %lu", place, number); // ACKED
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    uint64_t *table = pool_open(argv[1], "table", NUMBERS * sizeof *table);
    set(table, 0, 100);
    set(table, 511, 101);
    need(munmap(table, NUMBERS * sizeof *table) == 0, "munmap");
    return 0;
}
