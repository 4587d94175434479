/* Path names as the traced thread means them.
 *
 * Before: a thread in a ptrace stop. After: descriptors and canonical paths in the tracer. Names are walked
 * by the kernel, from the thread's own root or current folder (through /proc) or from a duplicate of its
 * descriptor; only names that mean "the calling process" (/proc/self) are rewritten first. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "remote/remote.h"

int pc_open_base(struct pc_thread *thread, int dirfd, const char *name) {
    char link[64];
    if (name[0] != '/' && dirfd != AT_FDCWD)
        return pc_dup_remote(thread, dirfd);
    snprintf(link, sizeof(link), "/proc/%d/%s", thread->tid, name[0] == '/' ? "root" : "cwd");
    return open(link, O_PATH | O_CLOEXEC);
}

static const struct {
    const char *prefix;
    const char *format; /* takes the thread group */
} self_names[] = {
    {"/proc/self/", "/proc/%d/"},    {"/proc/thread-self/", "/proc/%d/"}, {"/dev/fd/", "/proc/%d/fd/"},
    {"/dev/stdin", "/proc/%d/fd/0"}, {"/dev/stdout", "/proc/%d/fd/1"},    {"/dev/stderr", "/proc/%d/fd/2"},
};

/* Names of "the calling process" must mean the thread, not the tracer. False if the result is too long. */
static bool rewrite_self(const struct pc_thread *thread, const char *name, char *result, size_t size) {
    for (size_t i = 0; i < sizeof(self_names) / sizeof(self_names[0]); i++) {
        size_t length = strlen(self_names[i].prefix);
        if (strncmp(name, self_names[i].prefix, length) != 0)
            continue;
        char start[64];
        snprintf(start, sizeof(start), self_names[i].format, thread->tgid);
        return (size_t)snprintf(result, size, "%s%s", start, name + length) < size;
    }
    return (size_t)snprintf(result, size, "%s", name) < size;
}

/* openat(base, name), where an absolute name starts at `base`, which is then the thread's root. */
static int open_below(int base, const char *name, int flags) {
    while (*name == '/')
        name++;
    return openat(base, *name == '\0' ? "." : name, O_PATH | O_CLOEXEC | flags);
}

int pc_open_named(struct pc_thread *thread, int dirfd, const char *name, enum pc_follow follow) {
    char path[PATH_MAX];
    if (name[0] == '\0' || !rewrite_self(thread, name, path, sizeof(path)))
        return -1;
    int base = pc_open_base(thread, dirfd, path);
    if (base < 0)
        return -1;
    int fd = open_below(base, path, follow == PC_FOLLOW ? 0 : O_NOFOLLOW);
    close(base);
    return fd;
}

int pc_open_remote(struct pc_thread *thread, int dirfd, uint64_t path, enum pc_follow follow, int at_flags) {
    char name[PATH_MAX];
    int length = path == 0 ? 0 : pc_peek_string(thread, path, name, sizeof(name));
    if (length < 0)
        return -1;
    if (length > 0)
        return pc_open_named(thread, dirfd, name, follow);
    if ((at_flags & AT_EMPTY_PATH) == 0)
        return -1;
    return dirfd == AT_FDCWD ? pc_open_base(thread, dirfd, "") : pc_dup_remote(thread, dirfd);
}

/* Cuts `name` (no trailing slashes) before its last component, which is copied; false if there is none that
 * could be made, removed or renamed. */
static bool split(char *name, char *last, size_t size) {
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        name[--length] = '\0';
    char *slash = strrchr(name, '/');
    const char *component = slash == NULL ? name : slash + 1;
    if (*component == '\0' || strcmp(component, ".") == 0 || strcmp(component, "..") == 0)
        return false;
    if ((size_t)snprintf(last, size, "%s", component) >= size)
        return false;
    if (slash == NULL)
        strcpy(name, ".");
    else
        slash[slash == name ? 1 : 0] = '\0';
    return true;
}

void pc_place_look(struct pc_place *place) {
    place->exists =
        place->parent >= 0 && fstatat(place->parent, place->last, &place->status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Another file system mounted below the data folder is no part of it. */
static bool on_device(struct pc_recorder *recorder, const struct pc_place *place) {
    struct stat folder;
    if (fstat(place->parent, &folder) != 0 || folder.st_dev == recorder->dir_dev)
        return true;
    if (strlen(place->path) <= recorder->dir_length)
        return true; /* the data folder itself, whose parent may well be elsewhere */
    pc_note(recorder, NULL, "%s is on another file system than the data folder; changes to it are ignored",
            place->path);
    return false;
}

void pc_place_named(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, const char *name,
                    struct pc_place *place) {
    char path[PATH_MAX];
    pc_place_close(place);
    if (name[0] == '\0' || !rewrite_self(thread, name, path, sizeof(path)))
        return;
    if (!split(path, place->last, sizeof(place->last)))
        return;
    int base = pc_open_base(thread, dirfd, path);
    if (base < 0)
        return;
    place->parent = open_below(base, path, O_DIRECTORY);
    close(base);
    if (place->parent < 0 || !pc_fd_path(place->parent, place->path, sizeof(place->path)))
        return;
    size_t length = strlen(place->path);
    if (length + 1 + strlen(place->last) >= sizeof(place->path))
        return;
    if (length > 1)
        place->path[length++] = '/';
    strcpy(place->path + length, place->last);
    place->known = true;
    place->inside = pc_below_dir(recorder, place->path) != NULL && on_device(recorder, place);
    pc_place_look(place);
}

void pc_place_resolve(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t path,
                      struct pc_place *place) {
    char name[PATH_MAX];
    pc_place_close(place);
    if (pc_peek_string(thread, path, name, sizeof(name)) > 0)
        pc_place_named(recorder, thread, dirfd, name, place);
}

void pc_place_close(struct pc_place *place) {
    if (place->parent >= 0)
        close(place->parent);
    place->parent = -1;
    place->known = place->inside = place->exists = place->unnamed = false;
    place->path[0] = '\0';
    place->last[0] = '\0';
}
