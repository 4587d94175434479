/* A table of two blocks is rewritten; a record is added, then counted. */
#include "../several.h"

static char table[8192];

static void rewrite(int here) {
    memset(table, 'B', sizeof table);
    int fd = open(mended('a') ? "table.new" : "table", O_WRONLY | O_CREAT, 0644);
    need(fd >= 0 && pwrite(fd, table, sizeof table, 0) == sizeof table, "table"); // LOST a SURVIVED a
    need(fsync(fd) == 0, "fsync table");
    if (mended('a'))
        need(rename("table.new", "table") == 0 && fsync(here) == 0, "rename");
}

static void add(void) {
    int records = open("records", O_WRONLY), count = open("count", O_WRONLY);
    need(records >= 0 && count >= 0, "open");
    need(pwrite(records, "one\n", 4, 0) == 4, "record"); // LOST b
    need(!mended('b') || fsync(records) == 0, "fsync records");
    need(pwrite(count, "1\n", 2, 0) == 2, "count"); // SURVIVED b
    need(fsync(count) == 0 && fsync(records) == 0, "fsync");
}

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    if (argc == 3) {
        int fd = open("table", O_WRONLY | O_CREAT, 0644);
        memset(table, 'A', sizeof table);
        need(write(fd, table, sizeof table) == sizeof table, "table");
        fd = open("records", O_WRONLY | O_CREAT, 0644);
        need(write(fd, "....", 4) == 4, "records");
        return 0;
    }
    rewrite(open(".", O_RDONLY | O_DIRECTORY));
    add();
    return 0;
}
