/* A write-ahead log that goes on in a new file when the old one is full. A commit syncs the log. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int wal = -1;   /* the current log file */
static int wal_number; /* it is called wal-NUMBER */

static void check(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static uint32_t fnv1a(const char *data, int length) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)data[i]) * 16777619u;
    return hash;
}

static void switch_log(void) {
    char name[32];
    if (wal >= 0) {
        close(wal);
    }
    snprintf(name, sizeof name, "wal-%d", ++wal_number);
    wal = open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
    check(wal >= 0, "open log");
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    check(dir >= 0 && fsync(dir) == 0, "fsync directory");
    close(dir);
}

static void append(int sequence, const char *operation) {
    char line[64];
    int length = snprintf(line, 48, "%d %s ", sequence, operation);
    length += snprintf(line + length, 16, "%08x\n", fnv1a(line, length));
    check(write(wal, line, length) == length, "write log");
}

static void commit(int sequence) {
    check(fdatasync(wal) == 0, "fdatasync log");
    printf("committed %d\n", sequence);
    fflush(stdout);
}

int main(int argc, char **argv) {
    check(argc == 2 && chdir(argv[1]) == 0, "chdir");
    switch_log();
    append(1, "begin"); // LOST
    append(2, "a=1");   // LOST
    switch_log();
    append(3, "b=2"); // SURVIVED
    commit(3);
    return 0;
}
