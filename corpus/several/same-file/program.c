/* A book: a name in its first block, an entry and the total in its second. */
#include "../several.h"

static void name(int book) {
    need(pwrite(book, "ledger", 6, 0) == 6, "name"); // LOST a
    need(!mended('a') || fsync(book) == 0, "fsync");
    say("named"); // ACKED a
    need(fsync(book) == 0, "fsync");
}

static void enter(int book) {
    uint64_t entry_and_total[2] = {40, 140};
    if (mended('b')) {
        need(pwrite(book, entry_and_total, 16, 4096) == 16, "both");
    } else {
        need(pwrite(book, entry_and_total, 8, 4096) == 8, "entry");         // SURVIVED b LOST b
        need(fsync(book) == 0, "fsync");                                    // SURVIVED b
        need(pwrite(book, entry_and_total + 1, 8, 4096 + 8) == 8, "total"); // LOST b
    }
    need(fsync(book) == 0, "fsync");
    say("entered");
}

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    int book = open("book", O_RDWR | O_CREAT, 0644);
    if (argc == 3) {
        uint64_t total = 100;
        need(ftruncate(book, 8192) == 0 && pwrite(book, &total, 8, 4096 + 8) == 8, "create");
        return 0;
    }
    name(book);
    enter(book);
    return 0;
}
