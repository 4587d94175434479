// Notes are written through a stream, a counter is replaced.
#include "../several.h"
#include <fstream>
#include <iostream>

static void sync_file(const char *name) {
    int fd = open(name, O_RDONLY);
    need(fd >= 0 && fsync(fd) == 0, name);
    close(fd);
}

static void note() {
    std::ofstream notes("notes", std::ios::app);
    notes << "buy milk\n";
    if (mended('a')) {
        notes.flush();
        sync_file("notes");
    }
    std::cout << "noted" << std::endl; // ACKED a
    notes.close();                     // LOST a
    sync_file("notes");
}

static void count() {
    int fd = open("counter.new", O_WRONLY | O_CREAT, 0644);
    need(write(fd, "1\n", 2) == 2, "counter.new"); // LOST b
    if (mended('b'))
        sync_file("counter.new");
    need(rename("counter.new", "counter") == 0, "rename"); // SURVIVED b
    sync_file(".");
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    note();
    count();
    return 0;
}
