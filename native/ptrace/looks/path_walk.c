/* Following names as the kernel does, one component at a time.
 *
 * Before: a thread at the entry of a call. After: every folder of the data folder's file system in which a
 * name was looked up, and the name, are in the trace, whether or not it was there.
 *
 * Most names that a program opens lie elsewhere (libraries, modules). Where the data folder is a mount of its
 * own, the kernel can tell that a walk never left the root mount; such a walk has no step that matters. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "looks/looks.h"

enum { LINKS = 40, INTERPRETERS = 5 }; /* the kernel's own limits */

static uint64_t mount_of(const char *path) {
    struct statx status;
    if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &status) != 0 || (status.stx_mask & STATX_MNT_ID) == 0)
        return 0;
    return status.stx_mnt_id;
}

void pc_looks_start(struct pc_recorder *recorder) {
    uint64_t root = mount_of("/"), data = mount_of(recorder->dir);
    recorder->root = open("/", O_PATH | O_CLOEXEC);
    recorder->cwd = -1;
    recorder->own_mount = root != 0 && data != 0 && root != data && recorder->root >= 0;
}

/* Whether an absolute name stays on the root mount, hence outside the data folder. */
static bool stays_outside(const struct pc_recorder *recorder, const char *name) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS};
    if (!recorder->own_mount || name[0] != '/')
        return false;
    name += strspn(name, "/");
    int fd = (int)syscall(SYS_openat2, recorder->root, *name == '\0' ? "." : name, &how, sizeof(how));
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    close(fd);
    return true;
}

static void look_name(struct pc_recorder *recorder, const struct stat *folder, const char *name,
                      const struct stat *found) {
    bool here = pc_looks_at(recorder, folder->st_dev);
    bool there = found != NULL && pc_looks_at(recorder, found->st_dev);
    if (!here && !there)
        return;
    struct pc_event event = {.kind = PC_LOOK_NAME};
    event.inode = here ? folder->st_ino : 0;
    event.extra = there ? found->st_ino : 0;
    event.path = pc_name(recorder, name);
    pc_emit(recorder, &event);
}

static bool is_proc(int fd) {
    struct statfs status;
    return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

void pc_look_moved(struct pc_recorder *recorder) {
    if (recorder->cwd >= 0)
        close(recorder->cwd);
    recorder->cwd = -1;
}

/* Where a walk begins. The root is ours: a program that changes it is not understood. The current folder is
 * opened once, as long as there is one thread that could change it. */
static int open_start(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, const char *name) {
    if (name[0] == '/')
        return fcntl(recorder->root, F_DUPFD_CLOEXEC, 0);
    if (dirfd != AT_FDCWD || recorder->several)
        return pc_open_base(thread, dirfd, name);
    if (recorder->cwd < 0)
        recorder->cwd = pc_open_base(thread, dirfd, name);
    return recorder->cwd < 0 ? -1 : fcntl(recorder->cwd, F_DUPFD_CLOEXEC, 0);
}

/* A walk under way: where it stands, and what is left of the name. */
struct walk {
    struct pc_recorder *recorder;
    struct pc_thread *thread;
    struct pc_looked at;
    char rest[2 * PATH_MAX];
    int links;
    bool lost; /* something could not be followed */
};

static bool stand_at(struct walk *walk, int fd) {
    if (walk->at.fd >= 0)
        close(walk->at.fd);
    walk->at.fd = fd;
    if (fd >= 0 && fstat(fd, &walk->at.status) != 0) {
        close(fd);
        walk->at.fd = -1;
        walk->lost = true;
    }
    return walk->at.fd >= 0;
}

/* Puts the target of the link `fd` before what is left. False: the walk ends here. */
static bool follow(struct walk *walk, int fd) {
    char target[PATH_MAX], joined[2 * PATH_MAX];
    ssize_t length = readlinkat(fd, "", target, sizeof(target) - 1);
    close(fd);
    if (++walk->links > LINKS)
        return false;
    if (length <= 0) {
        walk->lost = true;
        return false;
    }
    target[length] = '\0';
    if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", target, walk->rest) >= sizeof(joined)) {
        walk->lost = true;
        return false;
    }
    strcpy(walk->rest, joined);
    if (target[0] != '/')
        return true;
    return stand_at(walk, open_start(walk->recorder, walk->thread, AT_FDCWD, target));
}

/* In /proc, "self" must mean the thread, not us. */
static const char *meant(const struct walk *walk, const char *name, char *text, size_t size) {
    if ((strcmp(name, "self") != 0 && strcmp(name, "thread-self") != 0) || !is_proc(walk->at.fd))
        return name;
    snprintf(text, size, "%d", walk->thread->tid);
    return text;
}

/* Goes one component further. False: the walk ends here. */
static bool step(struct walk *walk, const char *name) {
    char number[16];
    struct stat status;
    name = meant(walk, name, number, sizeof(number));
    if (strcmp(name, ".") == 0)
        return true;
    if (strcmp(name, "..") == 0)
        return stand_at(walk, openat(walk->at.fd, "..", O_PATH | O_CLOEXEC));
    int fd = openat(walk->at.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        walk->lost |= fd >= 0 || (errno != ENOENT && errno != ENOTDIR && errno != EACCES &&
                                  errno != ENAMETOOLONG && errno != ENXIO);
        if (fd >= 0)
            close(fd);
        look_name(walk->recorder, &walk->at.status, name, NULL);
        return stand_at(walk, -1);
    }
    look_name(walk->recorder, &walk->at.status, name, &status);
    if (!S_ISLNK(status.st_mode))
        return stand_at(walk, fd);
    if (!is_proc(fd))
        return follow(walk, fd) || stand_at(walk, -1);
    close(fd); /* where such a link leads, its text does not say */
    return stand_at(walk, openat(walk->at.fd, name, O_PATH | O_CLOEXEC));
}

static void walk_on(struct walk *walk) {
    char name[NAME_MAX + 1];
    while (walk->at.fd >= 0) {
        size_t slashes = strspn(walk->rest, "/");
        size_t length = strcspn(walk->rest + slashes, "/");
        if (length == 0)
            return;
        if (length > NAME_MAX) {
            (void)stand_at(walk, -1);
            return;
        }
        memcpy(name, walk->rest + slashes, length);
        name[length] = '\0';
        memmove(walk->rest, walk->rest + slashes + length, strlen(walk->rest + slashes + length) + 1);
        if (!step(walk, name))
            return;
    }
}

void pc_look_walk(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, const char *name,
                  struct pc_looked *looked) {
    struct walk walk = {.recorder = recorder, .thread = thread, .at = {.fd = -1}};
    looked->fd = -1;
    if (name[0] == '\0' || stays_outside(recorder, name))
        return;
    snprintf(walk.rest, sizeof(walk.rest), "%s", name);
    if (stand_at(&walk, open_start(recorder, thread, dirfd, name)))
        walk_on(&walk);
    else
        walk.lost |= errno != EBADF;
    if (walk.lost)
        pc_note(recorder, NULL, "it uses a path that could not be resolved: %s", name);
    *looked = walk.at;
}

void pc_look(struct pc_recorder *recorder, const struct stat *status, enum pc_event_kind kind,
             uint64_t offset, uint64_t length) {
    if (!pc_looks_at(recorder, status->st_dev))
        return;
    struct pc_event event = {.kind = (uint16_t)kind, .inode = status->st_ino};
    event.offset = offset;
    event.length = length;
    pc_emit(recorder, &event);
}

/* The loader that an ELF file names; false: it names none. */
static bool find_loader(int fd, char *name, size_t size) {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        off_t where = (off_t)(header.e_phoff + (uint64_t)i * header.e_phentsize);
        if (pread(fd, &segment, sizeof(segment), where) != (ssize_t)sizeof(segment))
            return false;
        if (segment.p_type == PT_INTERP && segment.p_filesz > 0 && segment.p_filesz < size) {
            ssize_t got = pread(fd, name, segment.p_filesz, (off_t)segment.p_offset);
            name[got < 0 ? 0 : got] = '\0';
            return got > 0;
        }
    }
    return false;
}

/* The program that the first line of a script names. */
static bool find_interpreter(int fd, char *name, size_t size) {
    ssize_t got = pread(fd, name, size - 1, 0);
    if (got < 3 || name[0] != '#' || name[1] != '!')
        return false;
    name[got] = '\0';
    size_t start = 2 + strspn(name + 2, " \t");
    size_t length = strcspn(name + start, " \t\n");
    memmove(name, name + start, length);
    name[length] = '\0';
    return length > 0;
}

void pc_look_exec(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, const char *name) {
    char link[64], next[PATH_MAX];
    struct pc_looked looked;
    snprintf(next, sizeof(next), "%s", name);
    for (int i = 0; i <= INTERPRETERS; i++) {
        if (recorder->own_mount && stays_outside(recorder, next)) {
            looked.fd = open(next, O_PATH | O_CLOEXEC);
            if (looked.fd >= 0 && fstat(looked.fd, &looked.status) != 0)
                return (void)close(looked.fd);
        } else {
            pc_look_walk(recorder, thread, i == 0 ? dirfd : AT_FDCWD, next, &looked);
        }
        if (looked.fd < 0)
            return;
        pc_look(recorder, &looked.status, PC_LOOK_DATA, 0, PC_LOOK_ALL);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", looked.fd);
        int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        close(looked.fd);
        if (fd < 0)
            return;
        bool more = S_ISREG(looked.status.st_mode) &&
                    (find_interpreter(fd, next, sizeof(next)) || find_loader(fd, next, sizeof(next)));
        close(fd);
        if (!more)
            return;
    }
}
