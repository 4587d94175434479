/* Following a name step by step, to see whether the image had a say in what it stands for.
 *
 * This process sees the same files at the same paths as the check, so the names are walked here. Folders
 * outside the image are taken to stay as they are for the few milliseconds that a check needs to start. */
#include "forks.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_LINKS 40

static bool below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool is_private(const struct pc_private *place, const char *path) {
    return below(path, place->folder) || below(path, place->scratch);
}

/* Whether a component of /proc is about a process. */
static bool about_a_process(const char *part) {
    return isdigit((unsigned char)part[0]) || strcmp(part, "self") == 0 || strcmp(part, "thread-self") == 0;
}

/* The folder from which a relative name is walked; false if it cannot be told. */
static bool base_of(pid_t pid, int dirfd, char *path) {
    char link[64];
    if (dirfd == AT_FDCWD) {
        snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
    } else {
        snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, dirfd);
    }
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0 || path[0] != '/') {
        return false;
    }
    path[length] = '\0';
    return true;
}

/* The parts of a name that are still to be walked, and the folder reached so far, without links. */
struct walk {
    char rest[2 * PATH_MAX];
    char here[PATH_MAX];
    int links;
};

/* Takes the next part off the rest; false at the end. */
static bool next_part(struct walk *walk, char part[NAME_MAX + 1], bool *last) {
    char *start = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(start, "/");
    if (length == 0 || length > NAME_MAX) {
        return false;
    }
    memcpy(part, start, length);
    part[length] = '\0';
    char *after = start + length;
    *last = after[strspn(after, "/")] == '\0';
    memmove(walk->rest, after, strlen(after) + 1);
    return true;
}

static void go_up(char *path) {
    char *slash = strrchr(path, '/');
    *(slash == path ? slash + 1 : slash) = '\0';
}

/* Puts what a link stands for in front of the rest; false if that is too long, or there are too many. */
static bool follow_link(struct walk *walk, const char *link) {
    char target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0 || ++walk->links > MOST_LINKS ||
        (size_t)length + strlen(walk->rest) + 2 > sizeof(walk->rest)) {
        return false;
    }
    target[length] = '\0';
    memmove(walk->rest + length + 1, walk->rest, strlen(walk->rest) + 1);
    memcpy(walk->rest, target, (size_t)length);
    walk->rest[length] = '/';
    if (target[0] == '/') {
        strcpy(walk->here, "/");
    }
    return true;
}

/* One part of the name. True: the walk goes on. */
static bool step(const struct pc_private *place, struct walk *walk, const char *part, bool last, bool follow,
                 struct pc_walked *walked) {
    if (strcmp(part, ".") == 0) {
        return true;
    }
    if (strcmp(part, "..") == 0) {
        go_up(walk->here);
        return true;
    }
    if (strcmp(walk->here, "/proc") == 0 && about_a_process(part)) {
        walked->standing = PC_SELF;
        return false;
    }
    const char *slash = walk->here[1] == '\0' ? "" : "/";
    if (snprintf(walked->path, sizeof(walked->path), "%s%s%s", walk->here, slash, part) >= PATH_MAX) {
        walked->standing = PC_INSIDE; /* whatever it is */
        return false;
    }
    struct stat status;
    bool there = lstat(walked->path, &status) == 0;
    if (is_private(place, walk->here)) {
        bool absent = !there && errno == ENOENT && below(walk->here, place->folder);
        walked->standing = absent ? PC_ABSENT : PC_INSIDE;
        return false;
    }
    if (!there || (S_ISLNK(status.st_mode) && last && !follow)) {
        walked->standing = PC_OUTSIDE;
        walked->exists = there;
        return false;
    }
    if (S_ISLNK(status.st_mode)) {
        walked->standing = PC_INSIDE;
        return follow_link(walk, walked->path);
    }
    strcpy(walk->here, walked->path);
    return true;
}

void pc_walk(const struct pc_private *place, pid_t pid, int dirfd, const char *name, bool follow,
             struct pc_walked *walked) {
    struct walk walk = {.here = "/"};
    walked->exists = false;
    walked->standing = PC_INSIDE;
    if (name[0] != '/' && !base_of(pid, dirfd, walk.here)) {
        return;
    }
    snprintf(walk.rest, sizeof(walk.rest), "%s", name);
    char part[NAME_MAX + 1];
    bool last = false;
    while (next_part(&walk, part, &last)) {
        if (!step(place, &walk, part, last, follow, walked)) {
            return;
        }
    }
    if (walk.rest[strspn(walk.rest, "/")] != '\0') {
        return; /* a part that is too long for a name */
    }
    walked->exists = true;
    strcpy(walked->path, walk.here);
    walked->standing = strcmp(walk.here, place->folder) == 0 ? PC_FOLDER
                       : is_private(place, walk.here)        ? PC_INSIDE
                                                             : PC_OUTSIDE;
}
