/* The fixed twin of buggy.c: the page is synced before the number is confirmed. */
#include "pool.h"

static void set(uint64_t *table, int place, uint64_t number) {
    table[place] = number;
    need(msync(table, NUMBERS * sizeof *table, MS_SYNC) == 0, "msync");
    say("set %d %lu", place, number);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    uint64_t *table = pool_open(argv[1], "table", NUMBERS * sizeof *table);
    set(table, 0, 100);
    set(table, 511, 101);
    need(munmap(table, NUMBERS * sizeof *table) == 0, "munmap");
    return 0;
}
