/* The fixed twin of buggy.c: the mapping is synced before the file gets its name. */
#include "pool.h"

static void save(uint64_t version) {
    size_t size = NUMBERS * sizeof(uint64_t);
    int fd = open("numbers.new", O_RDWR | O_CREAT | O_TRUNC, 0644), here = open(".", O_RDONLY | O_DIRECTORY);
    need(fd >= 0 && here >= 0 && ftruncate(fd, (off_t)size) == 0 && fsync(fd) == 0, "numbers.new");
    uint64_t *numbers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(numbers != MAP_FAILED, "mmap");
    numbers[0] = version;
    numbers[NUMBERS - 1] = version;
    need(msync(numbers, size, MS_SYNC) == 0, "msync");
    need(munmap(numbers, size) == 0 && close(fd) == 0, "close");
    need(rename("numbers.new", "numbers") == 0, "rename");
    need(fsync(here) == 0 && close(here) == 0, "fsync of the folder");
    say("saved %lu", version);
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    save(1);
    save(2);
    return 0;
}
