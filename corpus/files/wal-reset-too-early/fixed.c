/* A small database starts: what an earlier run committed to the log goes into the data file, then the log is reset. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static void checkpoint(int wal, int db) {
    char page[64];
    ssize_t length = pread(wal, page, sizeof page, 0);
    check(length >= 0, "read log");
    if (length == 0 || page[length - 1] != '\n')
        return; /* no committed page */

    check(pwrite(db, page, length, 0) == length, "write database");
    check(fsync(db) == 0, "fsync database");
    check(ftruncate(wal, 0) == 0, "reset log");
    check(fsync(wal) == 0, "fsync log");
}

int main(int argc, char **argv) {
    check(argc == 2 && chdir(argv[1]) == 0, "chdir");
    int wal = open("wal", O_RDWR), db = open("db", O_RDWR);
    check(wal >= 0 && db >= 0, "open");
    checkpoint(wal, db);
    close(wal);
    close(db);
    return 0;
}
