/* A store of segments: each segment is a file of its own, and the index names those that count. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static uint32_t fnv1a(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

static void write_segment(const char *name, const char *text) {
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644); // LOST
    check(fd >= 0, "open segment");
    check(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write segment");
    check(fsync(fd) == 0, "fsync segment");
    close(fd);
}

static void add_to_index(const char *name, uint32_t hash) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %08x\n", name, hash);
    int fd = open("index", O_WRONLY | O_APPEND);
    check(fd >= 0, "open index");
    check(write(fd, line, length) == length, "write index"); // SURVIVED
    check(fsync(fd) == 0, "fsync index");
    close(fd);
}

int main(int argc, char **argv) {
    const char *text = "the second segment\n";
    check(argc == 2 && chdir(argv[1]) == 0, "chdir");
    write_segment("segment-2", text);
    add_to_index("segment-2", fnv1a(text));
    printf("stored segment-2\n");
    fflush(stdout);
    return 0;
}
