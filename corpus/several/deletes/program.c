/* Three changes of names. */
#include "../several.h"

static int here;

static void sync_folder(int wanted) {
    need(!wanted || fsync(here) == 0, "fsync");
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    here = open(".", O_RDONLY | O_DIRECTORY);
    need(unlink("one") == 0, "unlink"); // LOST a
    sync_folder(mended('a'));
    say("removed"); // ACKED a
    sync_folder(1);

    need(rename("two", "zwei") == 0, "rename"); // LOST b
    sync_folder(mended('b'));
    say("renamed"); // ACKED b
    sync_folder(1);

    need(link("three", "drei") == 0, "link"); // LOST c
    sync_folder(mended('c'));
    say("linked"); // ACKED c
    return 0;
}
