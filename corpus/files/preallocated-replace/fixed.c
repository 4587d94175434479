/* Writes settings as GLib and others do: space is reserved first, so that a full disk is noticed before the old file is
 * touched. The rename then replaces it once the content is on the disk. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LENGTH 5000

int main(int count, char **words) {
    static char content[LENGTH];
    memset(content, 'N', LENGTH);
    if (count != 2 || chdir(words[1]) != 0) {
        return 2;
    }
    int fd = open("settings.tmp", O_CREAT | O_WRONLY, 0644);
    if (fd < 0 || posix_fallocate(fd, 0, LENGTH) != 0) {
        return 1;
    }
    if (write(fd, content, LENGTH) != LENGTH) {
        return 1;
    }
    if (fsync(fd) != 0) {
        return 1;
    }
    close(fd);
    return rename("settings.tmp", "settings") != 0;
}
