/* Three records, each confirmed; then their range. */
#include "../several.h"

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    int records = open("records", O_WRONLY), range = open("range", O_WRONLY);
    for (int i = 0; i < 3; i++) {
        need(pwrite(records, "r", 1, 4096 * i) == 1, "record"); // LOST a
        need(!mended('a') || fsync(records) == 0, "fsync");
        say("record %d", i); // ACKED a
    }
    need(fsync(records) == 0, "fsync");
    if (mended('b')) {
        need(pwrite(range, "1-3", 3, 0) == 3, "range");
    } else {
        need(pwrite(range, "1", 1, 0) == 1, "first"); // SURVIVED b LOST b
        need(pwrite(range, "3", 1, 2) == 1, "last");  // LOST b SURVIVED b
    }
    need(fsync(range) == 0, "fsync");
    return 0;
}
