// A table with the number of its rows; a pointer to a target.
#include "../several.h"

static void table() {
    int fd = open("table", O_WRONLY | O_CREAT, 0644); // SURVIVED a
    need(fd >= 0 && write(fd, "3", 1) == 1, "table"); // LOST a SURVIVED a
    need(fsync(fd) == 0 && fsync(open(".", O_RDONLY)) == 0, "fsync");
}

static void point() {
    int target = open("target", O_WRONLY), pointer = open("pointer", O_WRONLY);
    need(pwrite(target, "x", 1, 0) == 1, "target"); // LOST b
    need(!mended('b') || fsync(target) == 0, "fsync");
    need(pwrite(pointer, "1", 1, 0) == 1, "pointer"); // SURVIVED b
    need(fsync(pointer) == 0 && fsync(target) == 0, "fsync");
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    table();
    point();
    return 0;
}
