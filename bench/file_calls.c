/* Makes many calls of one kind, for measuring what it costs to watch them.
 *
 *   file_calls write FILE CALLS    pwrites of 100 bytes, and an fsync after every 100
 *   file_calls read FILE CALLS     preads and stats in turn
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 100, PLACES = 1000, SYNC_EVERY = 100 };

static int write_often(int fd, long calls) {
    char data[SIZE];
    memset(data, 'x', sizeof(data));
    for (long i = 0; i < calls; i++) {
        if (pwrite(fd, data, sizeof(data), (i % PLACES) * SIZE) != SIZE) {
            return 1;
        }
        if (i % SYNC_EVERY == SYNC_EVERY - 1 && fsync(fd) != 0) {
            return 1;
        }
    }
    return 0;
}

static int read_often(int fd, const char *path, long calls) {
    char data[SIZE];
    struct stat status;
    for (long i = 0; i < calls; i++) {
        if (i % 2 == 0 ? pread(fd, data, sizeof(data), (i % PLACES) * SIZE) < 0 : stat(path, &status) != 0) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: file_calls write|read FILE CALLS\n");
        return 2;
    }
    int fd = open(argv[2], O_RDWR | O_CREAT, 0644);
    if (fd < 0) {
        perror(argv[2]);
        return 1;
    }
    long calls = atol(argv[3]);
    return strcmp(argv[1], "write") == 0 ? write_often(fd, calls) : read_often(fd, argv[2], calls);
}
