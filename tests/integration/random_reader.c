/* A random check: what it does next follows from its seed and from all that it was told so far, and so does its
 * verdict. Whatever it is told and nobody wrote down makes it contradict its own earlier runs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *const names[] = {"a", "b", "c", "d", "d/x", "d/y", "l", "new", "d/../a", "./b", "l/x", "e"};
static uint64_t told;

static void hear(const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++)
        told = (told ^ at[i]) * 1099511628211u;
    told ^= told >> 29;
}

static void hear_number(int64_t number) {
    hear(&number, sizeof(number));
}

static unsigned choose(unsigned count) {
    told = told * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(told >> 33) % count;
}

static const char *choose_name(void) {
    return names[choose(sizeof(names) / sizeof(names[0]))];
}

static int choose_file(int flags) {
    int fd = open(choose_name(), flags, 0644);
    if (fd < 0)
        hear_number(errno);
    return fd;
}

static void read_some(void) {
    char buffer[64];
    int fd = choose_file(O_RDONLY);
    struct iovec vector[2] = {{buffer, 7}, {buffer + 7, 30}};
    if (fd < 0)
        return;
    if (choose(2))
        lseek(fd, choose(20), SEEK_SET);
    ssize_t got = choose(2) ? read(fd, buffer, 1 + choose(60))
                  : choose(2) ? readv(fd, vector, 2)
                              : pread(fd, buffer, 1 + choose(60), choose(30));
    hear_number(got);
    hear(buffer, got < 0 ? 0 : (size_t)got);
    close(fd);
}

static void look_at_facts(void) {
    struct stat status;
    int result = choose(2) ? stat(choose_name(), &status) : lstat(choose_name(), &status);
    if (result != 0)
        return hear_number(errno);
    hear_number(status.st_mode);
    hear_number(status.st_nlink);
    if (!S_ISDIR(status.st_mode))
        hear_number(status.st_size);
}

static void list(void) {
    DIR *folder = opendir(choose(2) ? "." : choose_name());
    uint64_t before = told, sum = 0;
    if (folder == NULL)
        return hear_number(errno);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        told = before;
        hear(entry->d_name, strlen(entry->d_name));
        hear_number(entry->d_type);
        sum += told; /* in whatever order they come */
    }
    told = before;
    hear_number((int64_t)sum);
    closedir(folder);
}

static void map(void) {
    struct stat status;
    int fd = choose_file(O_RDONLY);
    if (fd < 0)
        return;
    void *bytes = mmap(NULL, 4096, PROT_READ, choose(2) ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED && fstat(fd, &status) == 0 && status.st_size > 0)
        hear(bytes, status.st_size < 40 ? (size_t)status.st_size : 40);
    close(fd);
}

static void change_bytes(void) {
    int fd = choose_file(choose(2) ? O_RDWR : O_RDWR | O_APPEND);
    if (fd < 0)
        return;
    if (choose(3) == 0)
        hear_number(ftruncate(fd, choose(30)));
    else
        hear_number(pwrite(fd, "written", 7, choose(30)));
    if (choose(2))
        hear_number(lseek(fd, 0, SEEK_END));
    close(fd);
}

static void change_names(void) {
    const char *one = choose_name(), *other = choose_name();
    int result;
    switch (choose(7)) {
    case 0:
        result = rename(one, other);
        break;
    case 1:
        result = unlink(one);
        break;
    case 2:
        result = link(one, other);
        break;
    case 3:
        result = mkdir(one, 0755);
        break;
    case 4:
        result = rmdir(one);
        break;
    case 5:
        result = symlink(one, other);
        break;
    default:
        result = close(open(one, O_CREAT | O_EXCL | O_RDWR, 0644));
    }
    hear_number(result == 0 ? 0 : errno);
}

static void copy(void) {
    int from = choose_file(O_RDONLY), to = open("new", O_CREAT | O_RDWR | (choose(2) ? O_TRUNC : 0), 0644);
    if (from >= 0 && to >= 0)
        hear_number(choose(2) ? copy_file_range(from, NULL, to, NULL, choose(40), 0)
                              : sendfile(to, from, NULL, choose(40)));
    close(from);
    close(to);
}

static void look_at_others(void) {
    char buffer[256];
    ssize_t got;
    switch (choose(4)) {
    case 0:
        got = readlink(choose_name(), buffer, sizeof(buffer));
        break;
    case 1:
        got = getxattr(choose_name(), "user.note", buffer, sizeof(buffer));
        break;
    case 2:
        got = access(choose_name(), F_OK);
        break;
    default:
        got = open(getenv(choose(2) ? "POWERCUT_ACKED" : "POWERCUT_SENT"), O_RDONLY);
        got = got < 0 ? got : read((int)got, buffer, sizeof(buffer));
    }
    hear_number(got < 0 ? -errno : got);
    hear(buffer, got < 0 ? 0 : (size_t)got);
}

/* A child that goes on reading where its parent stands. */
static void share(void) {
    int fd = choose_file(O_RDONLY), status = 0;
    unsigned skip = choose(20);
    char byte = 0;
    if (fd < 0)
        return;
    lseek(fd, skip, SEEK_SET);
    pid_t pid = fork();
    if (pid == 0)
        _exit(read(fd, &byte, 1) == 1 ? (unsigned char)byte % 100 : 101);
    waitpid(pid, &status, 0);
    hear_number(status);
    close(fd);
}

int main(int argc, char **argv) {
    void (*const steps[])(void) = {read_some,    read_some,    look_at_facts, list,  map,
                                   change_bytes, change_names, copy,          share, look_at_others};
    int count = argc > 2 ? atoi(argv[2]) : 10;
    told = (uint64_t)atoi(argv[1]) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < count; i++)
        steps[choose(sizeof(steps) / sizeof(steps[0]))]();
    return choose(3) == 0 ? 1 + (int)choose(3) : 0;
}
