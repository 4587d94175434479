/* An interposed library that leaves out some syncs of a program that cannot be changed.
 *
 * DROP_SYNCS lists them as NAME:N, with commas: the Nth fsync or fdatasync, counted from 1, of a file or
 * folder of that name. A sync that is left out returns 0, as if all had gone well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NAMES = 64 };

static char names[MOST_NAMES][NAME_MAX + 1];
static unsigned counts[MOST_NAMES];

/* The name that a descriptor was opened by, without its folder. */
static void name_of(int fd, char *name) {
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(path, '/');
    snprintf(name, NAME_MAX + 1, "%.*s", NAME_MAX, slash != NULL ? slash + 1 : path);
}

/* Which sync of that name this one is. */
static unsigned count(const char *name) {
    int index = 0;
    while (index < MOST_NAMES - 1 && names[index][0] != '\0' && strcmp(names[index], name) != 0)
        index++;
    snprintf(names[index], sizeof names[index], "%s", name);
    return ++counts[index];
}

static bool is_dropped(int fd) {
    char name[NAME_MAX + 1], wanted[NAME_MAX + 32];
    name_of(fd, name);
    snprintf(wanted, sizeof wanted, ",%s:%u,", name, count(name));
    const char *list = getenv("DROP_SYNCS");
    return list != NULL && strstr(list, wanted) != NULL;
}

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return is_dropped(fd) ? 0 : real(fd);
}

int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    return is_dropped(fd) ? 0 : real(fd);
}
