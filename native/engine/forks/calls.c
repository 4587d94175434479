/* What a call of a check would do, before the check is forked: a list of what is harmless, and nothing else.
 */
#include "forks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096U

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static bool peek(pid_t pid, uint64_t address, void *buffer, size_t length) {
    struct iovec here = {buffer, length}, there = {(void *)(uintptr_t)address, length};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)length;
}

/* Reads a name of PATH_MAX bytes at most, page by page: the page behind its end may not be there. */
static bool peek_name(pid_t pid, uint64_t address, char name[PATH_MAX]) {
    for (size_t got = 0; got < PATH_MAX;) {
        size_t room = PAGE - (address + got) % PAGE;
        size_t length = room < PATH_MAX - got ? room : PATH_MAX - got;
        if (!peek(pid, address + got, name + got, length)) {
            return false;
        }
        if (memchr(name + got, '\0', length) != NULL) {
            return true;
        }
        got += length;
    }
    return false;
}

/* A call that only asks what a name stands for. */
static enum pc_call asks(const struct pc_private *place, pid_t pid, int dirfd, uint64_t address, bool follow,
                         struct pc_walked *walked) {
    char name[PATH_MAX];
    if (!peek_name(pid, address, name)) {
        return PC_FORK_POINT;
    }
    pc_walk(place, pid, dirfd, name, follow, walked);
    switch (walked->standing) {
    case PC_OUTSIDE:
        return PC_HARMLESS;
    case PC_FOLDER:
        return PC_LOOK;
    case PC_ABSENT:
        return PC_ABSENCE;
    case PC_SELF:
        return PC_IDENTITY;
    default:
        return PC_FORK_POINT;
    }
}

/* What a link stands for: every fork runs the same program, which static ones ask for when they start. */
static enum pc_call reads_link(const struct pc_private *place, pid_t pid, int dirfd, uint64_t address,
                               struct pc_walked *walked) {
    char name[PATH_MAX];
    if (peek_name(pid, address, name) && strcmp(name, "/proc/self/exe") == 0) {
        return PC_HARMLESS;
    }
    return asks(place, pid, dirfd, address, false, walked);
}

/* A call that asks about a name which may be empty: then the descriptor is meant, and all that can be held
 * lie outside.
 */
static enum pc_call asks_at(const struct pc_private *place, pid_t pid, int dirfd, uint64_t address,
                            uint64_t flags, struct pc_walked *walked) {
    char first = 1;
    if ((flags & AT_EMPTY_PATH) != 0 && (address == 0 || (peek(pid, address, &first, 1) && first == '\0'))) {
        return dirfd == AT_FDCWD ? PC_FORK_POINT : PC_HARMLESS;
    }
    return asks(place, pid, dirfd, address, (flags & AT_SYMLINK_NOFOLLOW) == 0, walked);
}

/* Whether a worker has no terminal, so that its checks have none, either. */
static bool no_terminal(void) {
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal >= 0) {
        close(terminal);
    }
    return terminal < 0 && errno == ENXIO;
}

/* Devices that may be opened for writing: /dev/null, and /dev/tty where that fails. */
static bool is_harmless_device(const struct pc_walked *walked) {
    struct stat status;
    if (!walked->exists || stat(walked->path, &status) != 0 || !S_ISCHR(status.st_mode)) {
        return false;
    }
    return status.st_rdev == makedev(1, 3) || (status.st_rdev == makedev(5, 0) && no_terminal());
}

static enum pc_call opens(const struct pc_private *place, pid_t pid, int dirfd, uint64_t address,
                          uint64_t flags, struct pc_walked *walked) {
    bool follow = (flags & O_NOFOLLOW) == 0;
    enum pc_call call = asks(place, pid, dirfd, address, follow, walked);
    bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC | O_PATH)) != 0;
    if (changes) { /* a nameless file (O_TMPFILE) is opened for writing, too */
        return call == PC_HARMLESS && is_harmless_device(walked) ? PC_HARMLESS : PC_FORK_POINT;
    }
    return call == PC_LOOK ? PC_FORK_POINT : call; /* the folder could be listed through that */
}

/* Writing goes to another process of the check, or nowhere. */
static enum pc_call writes(pid_t pid, int fd) {
    char link[64], target[32] = "";
    snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    bool nowhere = length > 0 && (strncmp(target, "pipe:", 5) == 0 || strcmp(target, "/dev/null") == 0);
    return nowhere ? PC_HARMLESS : PC_FORK_POINT;
}

/* A process of its own, which shares nothing that it can change. */
static enum pc_call starts(uint64_t flags) {
    uint64_t shared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_PARENT |
                      CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                      CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_IO | CLONE_UNTRACED | CLONE_PIDFD;
    if ((flags & CLONE_VFORK) != 0) {
        shared &= ~(uint64_t)CLONE_VM; /* until it executes or ends, and we wait for that */
    }
    return (flags & shared) != 0 ? PC_FORK_POINT : PC_FORKING;
}

static enum pc_call starts_by_record(pid_t pid, uint64_t address) {
    uint64_t flags;
    return peek(pid, address, &flags, sizeof(flags)) ? starts(flags) : PC_FORK_POINT;
}

/* Calls that are harmless with some of their arguments. */
static bool harmless_with(const struct pc_stop *stop) {
    const uint64_t *args = stop->args;
    switch (stop->number) {
    case SYS_mmap: /* memory that forks would share could tell one of another */
        return (args[3] & MAP_TYPE) == MAP_PRIVATE ||
               ((args[2] & PROT_WRITE) == 0 && (args[3] & MAP_ANONYMOUS) == 0);
    case SYS_madvise:
        return args[2] != MADV_DONTFORK && args[2] != MADV_WIPEONFORK && args[2] != MADV_REMOVE;
    case SYS_futex:
        return (args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE;
    case SYS_fcntl:
        return args[1] == F_DUPFD || args[1] == F_GETFD || args[1] == F_SETFD || args[1] == F_GETFL ||
               args[1] == F_DUPFD_CLOEXEC;
    case SYS_ioctl:
        return args[1] == TCGETS || args[1] == FIOCLEX || args[1] == FIONCLEX || args[1] == TIOCGWINSZ ||
               args[1] == TIOCGPGRP || args[1] == FIONREAD;
    case SYS_prctl:
        return args[0] == PR_SET_NAME || args[0] == PR_GET_NAME || args[0] == PR_GET_DUMPABLE ||
               args[0] == PR_CAPBSET_READ || args[0] == PR_GET_SECUREBITS || args[0] == PR_SET_VMA;
    default:
        return false;
    }
}

/* Calls that never are anything but harmless: they change or ask for what a fork inherits as it is. Whatever
 * can be read through a descriptor lies outside, or opening it would have been the point. */
static bool always_harmless(uint64_t number) {
    switch (number) {
    case SYS_brk:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_mremap:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigreturn:
    case SYS_sigaltstack:
    case SYS_arch_prctl:
    case SYS_set_tid_address:
    case SYS_set_robust_list:
    case SYS_rseq:
    case SYS_prlimit64:
    case SYS_getrlimit:
    case SYS_setrlimit:
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
    case SYS_getresuid:
    case SYS_getresgid:
    case SYS_getgroups:
    case SYS_getppid: /* a fork has the same parent */
    case SYS_gettid:  /* the C library keeps it anyway: pc_zygote_fork */
    case SYS_capget:
    case SYS_uname:
    case SYS_sysinfo:
    case SYS_getrandom:
    case SYS_clock_gettime:
    case SYS_clock_getres:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_sched_getaffinity:
    case SYS_sched_yield:
    case SYS_getcwd:
    case SYS_umask:
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_lseek:
    case SYS_getdents64:
    case SYS_fadvise64:
    case SYS_fstat:
    case SYS_fstatfs:
    case SYS_close:
    case SYS_close_range:
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3:
    case SYS_pipe:
    case SYS_pipe2:
    case SYS_wait4:
        return true;
    default:
        return false;
    }
}

enum pc_call pc_judge_call(const struct pc_private *place, pid_t pid, const struct pc_stop *stop,
                           struct pc_walked *walked) {
    const uint64_t *args = stop->args;
    if (always_harmless(stop->number) || harmless_with(stop)) {
        return PC_HARMLESS;
    }
    switch (stop->number) {
    case SYS_open:
        return opens(place, pid, AT_FDCWD, args[0], args[1], walked);
    case SYS_openat:
        return opens(place, pid, (int)args[0], args[1], args[2], walked);
    case SYS_stat:
    case SYS_access:
    case SYS_statfs:
    case SYS_chdir:
        return asks(place, pid, AT_FDCWD, args[0], true, walked);
    case SYS_lstat:
        return asks(place, pid, AT_FDCWD, args[0], false, walked);
    case SYS_readlink:
        return reads_link(place, pid, AT_FDCWD, args[0], walked);
    case SYS_readlinkat:
        return reads_link(place, pid, (int)args[0], args[1], walked);
    case SYS_faccessat:
        return asks(place, pid, (int)args[0], args[1], true, walked);
    case SYS_faccessat2:
    case SYS_newfstatat:
        return asks_at(place, pid, (int)args[0], args[1], args[3], walked);
    case SYS_statx:
        return asks_at(place, pid, (int)args[0], args[1], args[2], walked);
    case SYS_execve:
        return asks(place, pid, AT_FDCWD, args[0], true, walked);
    case SYS_write:
        return writes(pid, (int)args[0]);
    case SYS_getpid:
    case SYS_getpgrp:
    case SYS_getpgid:
    case SYS_getsid:
        return PC_IDENTITY;
    case SYS_fork:
    case SYS_vfork:
        return PC_FORKING;
    case SYS_clone:
        return starts(args[0]);
    case SYS_clone3:
        return starts_by_record(pid, args[0]);
    case SYS_exit:
    case SYS_exit_group:
        return PC_CALL_END;
    default:
        return PC_FORK_POINT;
    }
}
