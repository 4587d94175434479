/* Each file has its own way, and its own mistake. */
#include "../several.h"

static int file(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT, 0644);
    need(fd >= 0, name);
    return fd;
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    int here = open(".", O_RDONLY | O_DIRECTORY), fd = file("one.new"), copy = file("copy");
    need(write(fd, "1\n", 2) == 2, "one"); // LOST a
    need(!mended('a') || fsync(fd) == 0, "fsync");
    need(rename("one.new", "one") == 0, "rename"); // SURVIVED a
    need(fsync(here) == 0, "fsync folder");

    fd = file("two.new");
    need(write(fd, "2\n", 2) == 2 && fsync(fd) == 0, "two");
    need(rename("two.new", "two") == 0, "rename"); // LOST b
    need(!mended('b') || fsync(here) == 0, "fsync folder");
    say("two"); // ACKED b
    need(fsync(here) == 0, "fsync folder");

    fd = file("three");
    need(pwrite(fd, "3", 1, 0) == 1, "three"); // LOST c
    need(!mended('c') || fsync(fd) == 0, "fsync");
    say("three"); // ACKED c
    need(fsync(fd) == 0, "fsync");

    fd = file("four");
    need(pwrite(fd, "44", mended('d') ? 2 : 1, 0) > 0, "four");   // SURVIVED d LOST d
    need(mended('d') || pwrite(fd, "4", 1, 1) == 1, "four");      // LOST d SURVIVED d
    need(fsync(fd) == 0, "fsync");

    need(pwrite(copy, "5", 1, 0) == 1, "copy"); // LOST e
    need(!mended('e') || fsync(copy) == 0, "fsync");
    need(ftruncate(file("five"), 0) == 0, "five"); // SURVIVED e
    need(fsync(copy) == 0, "fsync");
    return 0;
}
