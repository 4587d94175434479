/* A database starts: what is in the log goes into the data file, the log is reset; then a new page is committed. */
#include "../several.h"

static void checkpoint(int wal, int db) {
    need(pwrite(db, "colour=blue\n", 12, 0) == 12, "write database"); // LOST a
    need(!mended('a') || fsync(db) == 0, "fsync database");
    need(ftruncate(wal, 0) == 0, "reset log"); // SURVIVED a
    need(fsync(db) == 0, "fsync database");
    need(fsync(wal) == 0, "fsync log");
}

static void commit(int wal) {
    need(pwrite(wal, "colour=gold\n", 12, 0) == 12, "write log"); // LOST b
    need(!mended('b') || fsync(wal) == 0, "fsync log");
    say("committed"); // ACKED b
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    int wal = open("wal", O_RDWR), db = open("db", O_RDWR);
    need(wal >= 0 && db >= 0, "open");
    checkpoint(wal, db);
    commit(wal);
    return 0;
}
