/* A page is filled, a marker says so; the log tells the user. */
#include "../several.h"

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    uint64_t *page = pool_open(argv[1], "page", 4096);
    int log = open("log", O_WRONLY | O_APPEND), here = open(".", O_RDONLY | O_DIRECTORY);
    int marker = open("marker.new", O_WRONLY | O_CREAT, 0644);
    need(marker >= 0 && write(marker, "ready\n", 6) == 6 && fsync(marker) == 0, "marker");
    page[7] = 7; // LOST a
    need(!mended('a') || msync(page, 4096, MS_SYNC) == 0, "msync");
    need(rename("marker.new", "marker") == 0, "rename"); // SURVIVED a
    need(msync(page, 4096, MS_SYNC) == 0 && fsync(here) == 0, "sync");

    need(write(log, "filled\n", 7) == 7, "log"); // LOST b
    need(!mended('b') || fsync(log) == 0, "fsync");
    say("filled"); // ACKED b
    return 0;
}
