/* A key-value log: a count of the entries, then the entries. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct entry {
    char key[16];
    char value[16];
};

static void put(int log, const char *key, const char *value) {
    uint32_t count = 0;
    struct entry entry = {0};
    strncpy(entry.key, key, sizeof entry.key - 1);
    strncpy(entry.value, value, sizeof entry.value - 1);

    pread(log, &count, sizeof count, 0);
    off_t end = sizeof count + count * sizeof entry;
    count++;
    pwrite(log, &count, sizeof count, 0);
    pwrite(log, &entry, sizeof entry, end);
    fdatasync(log);
    printf("stored %s\n", key);
    fflush(stdout);
}

int main(void) {
    int log = open("kv.log", O_RDWR | O_CREAT, 0644);
    put(log, "colour", "blue");
    put(log, "shape", "round");
    return 0;
}
