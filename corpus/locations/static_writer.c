/* One mistake in a statically linked program: the file gets its name before its content is on disk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_all(int fd, const char *text) {
    size_t length = strlen(text);
    while (length > 0) {
        ssize_t written = write(fd, text, length); // LOST
        if (written < 0)
            exit(1);
        text += written;
        length -= (size_t)written;
    }
}

int main(int argc, char **argv) {
    if (argc != 2 || chdir(argv[1]) != 0)
        return 2;
    int fd = open("state.tmp", O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0)
        return 1;
    write_all(fd, "all of it\n");
    close(fd);
    if (rename("state.tmp", "state") != 0) // SURVIVED
        return 1;
    return 0;
}
