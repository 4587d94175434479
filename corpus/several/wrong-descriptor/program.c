/* Data comes before the log entry that points to it; an index comes last, and is confirmed. */
#include "../several.h"

static void put(int data, int log, int index) {
    need(pwrite(data, "data", 4, 0) == 4, "data"); // LOST a
    need(fsync(mended('a') ? data : log) == 0, "fsync");
    need(pwrite(log, "+", 1, 0) == 1, "log"); // SURVIVED a
    need(fsync(log) == 0, "fsync");
    need(pwrite(index, "1", 1, 0) == 1, "index"); // LOST b
    need(fsync(mended('b') ? index : data) == 0, "fsync");
    say("indexed"); // ACKED b
    need(fsync(data) == 0, "fsync");
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    put(open("data", O_WRONLY), open("log", O_WRONLY), open("index", O_WRONLY));
    return 0;
}
