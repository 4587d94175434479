/* Three files are replaced in one loop. */
#include "../several.h"

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    int here = open(".", O_RDONLY | O_DIRECTORY);
    const struct {
        const char *temporary, *name;
        int sync;
    } files[] = {{"one.new", "one", 1}, {"two.new", "two", mended('a')}, {"three.new", "three", mended('b')}};
    for (int i = 0; i < 3; i++) {
        int fd = open(files[i].temporary, O_WRONLY | O_CREAT, 0644);
        need(fd >= 0 && write(fd, "content\n", 8) == 8, "write"); // LOST a b
        need(!files[i].sync || fsync(fd) == 0, "fsync");
        need(rename(files[i].temporary, files[i].name) == 0, "rename"); // SURVIVED a b
        need(fsync(here) == 0, "fsync folder");
    }
    return 0;
}
