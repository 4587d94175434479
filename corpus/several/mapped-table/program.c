/* Three pages: a number, a record, the count of records. */
#include "../several.h"

enum { PAGE = 512, PAGES = 3 };

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    uint64_t *table = pool_open(argv[1], "table", PAGES * 4096);
    table[0] = 100; // LOST a
    need(!mended('a') || msync(table, 4096, MS_SYNC) == 0, "msync");
    say("number"); // ACKED a
    need(msync(table, 4096, MS_SYNC) == 0, "msync");

    table[PAGE] = 77; // LOST b
    need(!mended('b') || msync(table + PAGE, 4096, MS_SYNC) == 0, "msync");
    table[2 * PAGE] = 1; // SURVIVED b
    need(msync(table, PAGES * 4096, MS_SYNC) == 0, "msync");
    say("counted");
    return 0;
}
