/* Asks kcmp(2) about each descriptor of each traced process. That is dear only for trees with thousands of
 * descriptors, and asked only when a writable descriptor of a data file is closed. */
#define _GNU_SOURCE
#include "calls/last_reference.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether descriptor `fd` of one process and `other_fd` of another share an open file. */
static bool same_open_file(pid_t pid, int fd, pid_t other, int other_fd) {
    return syscall(SYS_kcmp, pid, other, KCMP_FILE, fd, other_fd) == 0;
}

static bool shares_table(pid_t pid, pid_t other) {
    return syscall(SYS_kcmp, pid, other, KCMP_FILES, 0, 0) == 0;
}

/* Whether process `other` has the open file, apart from the very descriptor asked about. */
static bool holds(pid_t pid, int fd, pid_t other) {
    char path[64];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/fd", other);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return false;
    const struct dirent *entry;
    while (!found && (entry = readdir(folder)) != NULL) {
        int other_fd = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || (other == pid && other_fd == fd))
            continue;
        found = same_open_file(pid, fd, other, other_fd);
    }
    closedir(folder);
    return found;
}

bool pc_last_reference(const struct pc_threads *threads, const struct pc_thread *thread, int fd) {
    if (holds(thread->tid, fd, thread->tid))
        return false;
    for (const struct pc_thread *other = NULL; (other = pc_threads_next(threads, other)) != NULL;) {
        bool leader = other->tid == other->tgid;
        if (!leader || other->tgid == thread->tgid || shares_table(thread->tid, other->tid))
            continue;
        if (holds(thread->tid, fd, other->tid))
            return false;
    }
    return true;
}
