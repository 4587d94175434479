/* A store of texts: the texts stand in one file, the index in another says where. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct store {
    int texts;
    int index;
};

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

static void put(struct store *store, const char *key, const char *text) {
    char entry[64];
    ssize_t length = (ssize_t)strlen(text);
    off_t start = lseek(store->texts, 0, SEEK_END);
    int size = snprintf(entry, sizeof entry, "%s %ld %zd %08x\n", key, (long)start, length, fnv1a(text));

    check(write(store->texts, text, length) == length, "write text");
    check(fsync(store->texts) == 0, "fsync");
    check(write(store->index, entry, size) == size, "write index");
    check(fsync(store->index) == 0, "fsync");
    printf("stored %s\n", key);
    fflush(stdout);
}

int main(int argc, char **argv) {
    check(argc == 2 && chdir(argv[1]) == 0, "chdir");
    struct store store = {open("texts", O_WRONLY | O_APPEND), open("index", O_WRONLY | O_APPEND)};
    check(store.texts >= 0 && store.index >= 0, "open");
    put(&store, "greeting", "good morning");
    put(&store, "farewell", "good night");
    return 0;
}
