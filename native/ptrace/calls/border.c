/* Moves and links across the border of the data folder: done by the tracer, where only the view forbids them.
 *
 * In life the folder and, say, TMPDIR lie on one file system, and a file that was written there is renamed
 * into the folder. While recorded, the folder is a mount of its own, and the call fails with EXDEV. Then the
 * tracer makes the file on the other side, with its content, mode, owner and times, gives it its name in one
 * step, and takes the old name away; the program is told that its call succeeded.
 *
 * Before: a rename or link at its exit stop. After true: call.result is 0 or why it fails in life, too, and
 * everything is as if the call itself had done it. After false: nothing was changed. A file that the program
 * still holds open stays where it is: what it writes or syncs through that descriptor would go to another
 * one. */
#define _GNU_SOURCE
#include "calls/border.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 18 };

/* A file as it is now, as one number; what is written to it later makes it another one. */
static uint64_t version_of(const struct stat *status) {
    uint64_t time = (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
    return ((uint64_t)status->st_ino * 1000003u + time) * 1000003u + (uint64_t)status->st_size;
}

void pc_border_synced(struct pc_recorder *recorder, const struct stat *status) {
    if (S_ISREG(status->st_mode) && status->st_dev == recorder->original_dev)
        pc_number_set_add(&recorder->synced_outside, version_of(status));
}

void pc_border_all_synced(struct pc_recorder *recorder) {
    clock_gettime(CLOCK_REALTIME_COARSE, &recorder->all_synced);
}

bool pc_border_is_synced(const struct pc_recorder *recorder, const struct stat *status) {
    const struct timespec *all = &recorder->all_synced, *own = &status->st_mtim;
    if (own->tv_sec < all->tv_sec || (own->tv_sec == all->tv_sec && own->tv_nsec < all->tv_nsec))
        return true;
    return pc_number_set_has(&recorder->synced_outside, version_of(status));
}

/* Whether a process has the file open. */
static bool holds_open(pid_t process, const struct stat *file) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", process);
    DIR *open_files = opendir(path);
    bool found = open_files == NULL; /* who knows */
    for (struct dirent *entry; !found && (entry = readdir(open_files)) != NULL;) {
        struct stat status;
        found = fstatat(dirfd(open_files), entry->d_name, &status, 0) == 0 && status.st_ino == file->st_ino &&
                status.st_dev == file->st_dev && S_ISREG(status.st_mode);
    }
    if (open_files != NULL)
        closedir(open_files);
    return found;
}

/* Whether the call would work if the folder were no mount of its own. */
static bool works_in_life(const struct pc_recorder *recorder, const struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    const struct pc_place *from = &call->from, *to = &call->to;
    struct stat outside;
    if (call->result != -EXDEV || from->inside == to->inside || !from->exists || !from->known || !to->known)
        return false;
    if (from->unnamed || !S_ISREG(from->status.st_mode) || (call->flags & ~(uint64_t)RENAME_NOREPLACE) != 0)
        return false;
    if (fstat(from->inside ? to->parent : from->parent, &outside) != 0)
        return false;
    return outside.st_dev == recorder->original_dev && !holds_open(thread->tgid, &from->status);
}

static bool copy_content(int from, int to) {
    char *piece = malloc(PIECE);
    ssize_t got = piece == NULL ? -1 : 1;
    while (got > 0 && (got = read(from, piece, PIECE)) > 0)
        for (ssize_t done = 0, step; got > 0 && done < got; done += step)
            if ((step = write(to, piece + done, (size_t)(got - done))) <= 0)
                got = step = -1;
    free(piece);
    return got == 0;
}

/* A file without a name in the target's folder, like the source; -1 and errno if that cannot be. */
static int copy_of(const struct pc_place *from, const struct pc_place *to) {
    const struct timespec times[2] = {from->status.st_atim, from->status.st_mtim};
    int source = openat(from->parent, from->last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int copy = source < 0 ? -1 : openat(to->parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    bool made = copy >= 0 && copy_content(source, copy);
    if (made) {
        (void)!fchown(copy, from->status.st_uid, from->status.st_gid);
        made = fchmod(copy, from->status.st_mode & 07777) == 0 && futimens(copy, times) == 0;
    }
    int code = errno;
    if (source >= 0)
        close(source);
    if (!made && copy >= 0)
        close(copy);
    errno = code;
    return made ? copy : -1;
}

/* Gives a file its name, in one step; 0 or -errno. */
static int name_it(int file, const struct pc_place *to, bool replace) {
    char self[64], passing[64];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
    if (linkat(AT_FDCWD, self, to->parent, to->last, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != EEXIST || !replace)
        return -errno;
    snprintf(passing, sizeof(passing), ".powercut-%d", getpid());
    if (linkat(AT_FDCWD, self, to->parent, passing, AT_SYMLINK_FOLLOW) != 0)
        return -errno;
    if (renameat(to->parent, passing, to->parent, to->last) == 0)
        return 0;
    int code = errno;
    (void)unlinkat(to->parent, passing, 0);
    return -code;
}

bool pc_border_carry(struct pc_recorder *recorder, struct pc_thread *thread, bool keep) {
    struct pc_call *call = &thread->call;
    if (!works_in_life(recorder, thread))
        return false;
    int copy = copy_of(&call->from, &call->to);
    if (copy < 0)
        return false;
    int result = name_it(copy, &call->to, !keep && (call->flags & RENAME_NOREPLACE) == 0);
    close(copy);
    if (result == 0 && !keep)
        (void)unlinkat(call->from.parent, call->from.last, 0);
    call->result = result;
    return true;
}
