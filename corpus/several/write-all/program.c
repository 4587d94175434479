/* write_all is right; two of those that call it forget to sync. */
#include "../several.h"

static void write_all(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t done = write(fd, bytes, length); // LOST a b
        need(done > 0, "write");
        bytes += done;
        length -= (size_t)done;
    }
}

static void put(const char *name, int flags, const char *text, int sync) {
    int fd = open(name, O_WRONLY | O_CREAT | flags, 0644);
    need(fd >= 0, name);
    write_all(fd, text, strlen(text)); // LOST a b
    need(!sync || fsync(fd) == 0, "fsync");
    close(fd);
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    int here = open(".", O_RDONLY | O_DIRECTORY);
    put("index.new", O_TRUNC, "one two three\n", 1);
    need(rename("index.new", "index") == 0 && fsync(here) == 0, "index");
    say("indexed");

    put("config.new", O_TRUNC, "colour=blue\n", mended('a')); // LOST a
    need(rename("config.new", "config") == 0, "config");      // SURVIVED a
    need(fsync(here) == 0, "folder");

    put("log", O_APPEND, "colour changed\n", mended('b')); // LOST b
    say("logged");                                         // ACKED b
    return 0;
}
