/* A journal file: a header that counts the records, and the records behind it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct header {
    char magic[4]; /* "JRNL" */
    uint32_t count;
};

struct record {
    uint32_t id;
    uint32_t hash; /* of the text */
    char text[24];
};

static void check(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static uint32_t fnv1a(const char *data, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)data[i]) * 16777619u;
    return hash;
}

static void append(int fd, const char *text) {
    struct header header;
    check(pread(fd, &header, sizeof header, 0) == sizeof header, "read header");
    struct record record = {.id = header.count + 1};
    strncpy(record.text, text, sizeof record.text - 1);
    record.hash = fnv1a(record.text, sizeof record.text);
    off_t end = sizeof header + header.count * sizeof record;
    header.count++;

    check(pwrite(fd, &record, sizeof record, end) == sizeof record, "write record");
    check(fdatasync(fd) == 0, "fdatasync");
    check(pwrite(fd, &header, sizeof header, 0) == sizeof header, "write header");
    check(fdatasync(fd) == 0, "fdatasync");
    printf("journaled %u\n", record.id);
    fflush(stdout);
}

int main(int argc, char **argv) {
    check(argc == 2 && chdir(argv[1]) == 0, "chdir");
    int fd = open("journal", O_RDWR);
    check(fd >= 0, "open journal");
    append(fd, "open the door");
    append(fd, "feed the cat");
    close(fd);
    return 0;
}
