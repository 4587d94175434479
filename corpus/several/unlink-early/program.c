/* The log becomes a table and is removed; then the version is counted up. */
#include "../several.h"

static void flush_log(void) {
    int table = open("table", O_WRONLY);
    need(table >= 0 && pwrite(table, "key=value\n", 10, 0) == 10, "table"); // LOST a
    need(!mended('a') || fsync(table) == 0, "fsync table");
    need(unlink("log") == 0, "unlink"); // SURVIVED a
    need(fsync(table) == 0, "fsync table");
}

static void install(int here) {
    int fd = open("CURRENT.new", O_WRONLY | O_CREAT, 0644);
    need(fd >= 0 && write(fd, "2\n", 2) == 2, "CURRENT.new"); // LOST b
    need(!mended('b') || fsync(fd) == 0, "fsync");
    need(rename("CURRENT.new", "CURRENT") == 0, "rename"); // SURVIVED b
    need(fsync(here) == 0, "fsync folder");
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    flush_log();
    install(open(".", O_RDONLY | O_DIRECTORY));
    return 0;
}
