/* Calls of one shape: a name or two, or a descriptor, and what of the files they stand for is seen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "looks/looks.h"

/* Numbers that older kernel headers do not name. */
enum {
    NR_FCHMODAT2 = 452,
    NR_SETXATTRAT = 463,
    NR_GETXATTRAT = 464,
    NR_LISTXATTRAT = 465,
    NR_REMOVEXATTRAT = 466,
};

enum { NONE = -1, HERE = -2 }; /* no argument; no descriptor argument: the current folder */

struct shape {
    short number;
    signed char dirfd, name;   /* positions of arguments */
    signed char dirfd2, name2; /* a second name */
    unsigned char seen;        /* enum seen; of both */
};

/* clang-format off */
static const struct shape shapes[] = {
    {SYS_open, HERE, 0, NONE, NONE, 0},
    {SYS_openat, 0, 1, NONE, NONE, 0},
    {SYS_openat2, 0, 1, NONE, NONE, 0},
    {SYS_creat, HERE, 0, NONE, NONE, 0},
    {SYS_truncate, HERE, 0, NONE, NONE, 0},
    {SYS_access, HERE, 0, NONE, NONE, 0},
    {SYS_faccessat, 0, 1, NONE, NONE, 0},
    {SYS_faccessat2, 0, 1, NONE, NONE, 0},
    {SYS_readlink, HERE, 0, NONE, NONE, 0},
    {SYS_readlinkat, 0, 1, NONE, NONE, 0},
    {SYS_stat, HERE, 0, NONE, NONE, PC_SEEN_FACTS},
    {SYS_lstat, HERE, 0, NONE, NONE, PC_SEEN_FACTS},
    {SYS_fstat, 0, NONE, NONE, NONE, PC_SEEN_FACTS},
    {SYS_newfstatat, 0, 1, NONE, NONE, PC_SEEN_FACTS},
    {SYS_statx, 0, 1, NONE, NONE, PC_SEEN_FACTS},
    {SYS_statfs, HERE, 0, NONE, NONE, 0},
    {SYS_inotify_add_watch, HERE, 1, NONE, NONE, 0},
    {SYS_getdents, 0, NONE, NONE, NONE, PC_SEEN_LIST},
    {SYS_getdents64, 0, NONE, NONE, NONE, PC_SEEN_LIST},
    {SYS_mkdir, HERE, 0, NONE, NONE, 0},
    {SYS_mkdirat, 0, 1, NONE, NONE, 0},
    {SYS_mknod, HERE, 0, NONE, NONE, 0},
    {SYS_mknodat, 0, 1, NONE, NONE, 0},
    {SYS_symlink, HERE, 1, NONE, NONE, 0},
    {SYS_symlinkat, 1, 2, NONE, NONE, 0},
    {SYS_unlink, HERE, 0, NONE, NONE, 0},
    {SYS_unlinkat, 0, 1, NONE, NONE, PC_SEEN_LIST}, /* a folder must be empty */
    {SYS_rmdir, HERE, 0, NONE, NONE, PC_SEEN_LIST},
    {SYS_link, HERE, 0, HERE, 1, 0},
    {SYS_linkat, 0, 1, 2, 3, 0},
    {SYS_rename, HERE, 0, HERE, 1, PC_SEEN_LIST},
    {SYS_renameat, 0, 1, 2, 3, PC_SEEN_LIST},
    {SYS_renameat2, 0, 1, 2, 3, PC_SEEN_LIST},
    {SYS_chmod, HERE, 0, NONE, NONE, 0},
    {SYS_fchmodat, 0, 1, NONE, NONE, 0},
    {NR_FCHMODAT2, 0, 1, NONE, NONE, 0},
    {SYS_chown, HERE, 0, NONE, NONE, 0},
    {SYS_lchown, HERE, 0, NONE, NONE, 0},
    {SYS_fchownat, 0, 1, NONE, NONE, 0},
    {SYS_utime, HERE, 0, NONE, NONE, 0},
    {SYS_utimes, HERE, 0, NONE, NONE, 0},
    {SYS_futimesat, 0, 1, NONE, NONE, 0},
    {SYS_utimensat, 0, 1, NONE, NONE, 0},
    {SYS_getxattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_lgetxattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_fgetxattr, 0, NONE, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {NR_GETXATTRAT, 0, 1, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_listxattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_llistxattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_flistxattr, 0, NONE, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {NR_LISTXATTRAT, 0, 1, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_setxattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_lsetxattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_fsetxattr, 0, NONE, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {NR_SETXATTRAT, 0, 1, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_removexattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_lremovexattr, HERE, 0, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {SYS_fremovexattr, 0, NONE, NONE, NONE, PC_SEEN_ATTRIBUTES},
    {NR_REMOVEXATTRAT, 0, 1, NONE, NONE, PC_SEEN_ATTRIBUTES},
};
/* clang-format on */

static void look_seen(struct pc_recorder *recorder, const struct stat *status, unsigned seen) {
    if ((seen & PC_SEEN_FACTS) != 0)
        pc_look(recorder, status, PC_LOOK_FACTS, 0, 0);
    if ((seen & PC_SEEN_LIST) != 0 && S_ISDIR(status->st_mode))
        pc_look(recorder, status, PC_LOOK_LIST, 0, 0);
    if ((seen & PC_SEEN_ATTRIBUTES) != 0)
        pc_look(recorder, status, PC_LOOK_ATTRIBUTES, 0, 0);
    if ((seen & PC_SEEN_UNSURE) != 0 && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)))
        pc_look(recorder, status, PC_LOOK_UNSURE, 0, 0);
}

int pc_look_fd(struct pc_recorder *recorder, struct pc_thread *thread, int fd, struct stat *status) {
    int copy = pc_dup_remote(thread, fd);
    if (copy >= 0 && fstat(copy, status) == 0 && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)))
        return copy;
    if (copy >= 0) {
        if (S_ISBLK(status->st_mode))
            pc_note(recorder, NULL, "it uses a block device");
        close(copy);
    } else if (fd >= 0 && errno != EBADF)
        pc_note(recorder, NULL, "its open files cannot be read (%s)", strerror(errno));
    return -1;
}

void pc_look_at_fd(struct pc_recorder *recorder, struct pc_thread *thread, int fd, unsigned seen) {
    struct stat status;
    int copy = seen == 0 ? -1 : pc_look_fd(recorder, thread, fd, &status);
    if (copy < 0)
        return;
    look_seen(recorder, &status, seen);
    close(copy);
}

bool pc_look_peek(struct pc_recorder *recorder, struct pc_thread *thread, uint64_t address, char *name) {
    if (pc_peek_string(thread, address, name, PATH_MAX) >= 0)
        return true;
    pc_note(recorder, NULL, "it uses a name that could not be read");
    return false;
}

void pc_look_at_name(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t address,
                     unsigned seen) {
    char name[PATH_MAX] = "";
    struct pc_looked looked;
    if (address != 0 && !pc_look_peek(recorder, thread, address, name))
        return;
    if (name[0] == '\0') {
        if (dirfd == AT_FDCWD)
            pc_look_walk(recorder, thread, dirfd, ".", &looked);
        else
            return pc_look_at_fd(recorder, thread, dirfd, seen);
    } else {
        pc_look_walk(recorder, thread, dirfd, name, &looked);
    }
    if (looked.fd < 0)
        return;
    look_seen(recorder, &looked.status, seen);
    close(looked.fd);
}

static void look_at_argument(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, int name,
                             unsigned seen) {
    const uint64_t *arg = thread->call.arg;
    int folder = dirfd == HERE ? AT_FDCWD : (int)arg[dirfd];
    if (name == NONE)
        pc_look_at_fd(recorder, thread, folder, seen);
    else
        pc_look_at_name(recorder, thread, folder, arg[name], seen);
}

bool pc_look_by_shape(struct pc_recorder *recorder, struct pc_thread *thread) {
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct shape *shape = &shapes[i];
        if (shape->number != thread->call.number)
            continue;
        look_at_argument(recorder, thread, shape->dirfd, shape->name, shape->seen);
        if (shape->name2 != NONE)
            look_at_argument(recorder, thread, shape->dirfd2, shape->name2, shape->seen);
        return true;
    }
    return false;
}
