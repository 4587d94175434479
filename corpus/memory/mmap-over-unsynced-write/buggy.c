/* Files and memory together: a text is written with write(), its index entry is stored into a mapping and
 * synced with msync. The file of the texts is never synced.
 *
 * The entry is durable and the text is not: after the power cut the index points at nothing. */
#include "pool.h"

static void put(int file, union index *index, int number) {
    static uint32_t end;
    const char *text = texts[number];
    size_t length = strlen(text);
    need(write(file, text, length) == (ssize_t)length, "write"); // LOST
    end += (uint32_t)length;
    index->word[number] = (uint64_t)sum_of(text, length) << 32 | end; // SURVIVED
    need(msync(index, sizeof *index, MS_SYNC) == 0, "msync");
    say("stored %d", number);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    union index *index = pool_open(argv[1], "index", sizeof *index);
    int file = open("texts", O_WRONLY | O_CREAT | O_APPEND, 0644), here = open(".", O_RDONLY | O_DIRECTORY);
    need(file >= 0 && here >= 0 && fsync(file) == 0 && fsync(here) == 0, "texts");
    put(file, index, 0);
    put(file, index, 1);
    return 0;
}
