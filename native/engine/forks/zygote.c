/* Forking a zygote, again and again.
 *
 * Before: it stands before a call, traced. Its own instructions are never executed any more: for each fork it
 * is set to the stub, which forks and traps. The fork (a child of ours: CLONE_PARENT) becomes a group of its
 * own that dies with us, may use the processors that the zygote was allowed to use, has its registers as they
 * were, and makes the call. Nobody traces it.
 *
 * While a fork is made and judges, we only wait: on another processor, each turn would wake an idle one,
 * which takes longer than many a check. So the zygote is kept where we are, and we stay there until the fork
 * ends. */
#include "stub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MASK_AT (PC_STUB_PAGE - (int)sizeof(cpu_set_t)) /* the processors, at the end of the page */

/* Flags and stack stay as they are: the call that follows may rely on both. Only rcx and r11 are lost, as in
 * any call. The values behind the code are those of the call's registers; see `fill`. */
/* clang-format off */
static const unsigned char code[] = {
    0x0f, 0x05,                         /* 00 syscall: clone */
    0x48, 0x89, 0xc1,                   /* 02 mov rcx, rax */
    0xe3, 0x01,                         /* 05 jrcxz 08 */
    0xcc,                               /* 07 int3: the zygote is done */
    0xb8, SYS_prctl, 0, 0, 0,           /* 08 mov eax, prctl */
    0xbf, 1, 0, 0, 0,                   /* 0d mov edi, PR_SET_PDEATHSIG */
    0xbe, SIGKILL, 0, 0, 0,             /* 12 mov esi, SIGKILL */
    0x0f, 0x05,                         /* 17 syscall */
    0xb8, SYS_setpgid, 0, 0, 0,         /* 19 mov eax, setpgid */
    0xbf, 0, 0, 0, 0,                   /* 1e mov edi, 0 */
    0xbe, 0, 0, 0, 0,                   /* 23 mov esi, 0 */
    0x0f, 0x05,                         /* 28 syscall */
    0xb8, SYS_sched_setaffinity, 0, 0, 0, /* 2a mov eax, sched_setaffinity; edi is 0, this thread */
    0xbe, sizeof(cpu_set_t), 0, 0, 0,   /* 2f mov esi: the size of the mask */
    0x48, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, /* 34 movabs rdx: the mask */
    0x0f, 0x05,                         /* 3e syscall */
    0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, /* 40 movabs rax */
    0x48, 0xbf, 0, 0, 0, 0, 0, 0, 0, 0, /* 4a movabs rdi */
    0x48, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0, /* 54 movabs rsi */
    0x48, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, /* 5e movabs rdx */
    0x49, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, /* 68 movabs r10 */
    0x49, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, /* 72 movabs r8 */
    0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, /* 7c movabs rcx: where the call is */
    0xff, 0xe1,                         /* 86 jmp rcx */
};
/* clang-format on */
#define MASK        (0x34 + 2)
#define FIRST_VALUE (0x40 + 2)
#define VALUE_STEP  10

bool pc_peek_code(pid_t pid, uint64_t address, unsigned char bytes[2]) {
    struct iovec here = {bytes, 2}, there = {(void *)(uintptr_t)address, 2};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == 2;
}

_Static_assert(sizeof(code) <= PC_STUB_ROOM, "it fits in front of what others put there");

static void fill(unsigned char *stub, const struct pc_zygote *zygote) {
    const struct user_regs_struct *regs = &zygote->regs;
    uint64_t values[] = {regs->orig_rax, regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->rip - 2};
    uint64_t mask = zygote->stub + MASK_AT;
    memcpy(stub, code, sizeof(code));
    memcpy(stub + MASK, &mask, sizeof(mask));
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        memcpy(stub + FIRST_VALUE + i * VALUE_STEP, &values[i], sizeof(values[i]));
    }
}

static bool write_stub(const struct pc_zygote *zygote) {
    char path[64];
    unsigned char stub[sizeof(code)];
    fill(stub, zygote);
    snprintf(path, sizeof(path), "/proc/%d/mem", zygote->pid);
    int memory = open(path, O_RDWR | O_CLOEXEC); /* writes into pages that the process cannot write */
    bool good = memory >= 0 &&
                pwrite(memory, stub, sizeof(stub), (off_t)zygote->stub) == (ssize_t)sizeof(stub) &&
                pwrite(memory, &zygote->processors, sizeof(cpu_set_t), (off_t)zygote->stub + MASK_AT) ==
                    (ssize_t)sizeof(cpu_set_t);
    if (memory >= 0) {
        close(memory);
    }
    return good;
}

bool pc_put_stub(struct pc_zygote *zygote) {
    struct user_regs_struct regs = zygote->regs;
    int status;
    if (sched_getaffinity(zygote->pid, sizeof(cpu_set_t), &zygote->processors) != 0) {
        CPU_ZERO(&zygote->processors); /* more than fit: nothing is shared, and no fork changes what it has */
    }
    zygote->processor = -1;
    regs.orig_rax = SYS_mmap; /* instead of the call at whose entry it stands */
    regs.rdi = 0;
    regs.rsi = PC_STUB_PAGE;
    regs.rdx = PROT_READ | PROT_EXEC;
    regs.r10 = MAP_PRIVATE | MAP_ANONYMOUS;
    regs.r8 = (unsigned long long)-1;
    regs.r9 = 0;
    bool good = ptrace(PTRACE_SETREGS, zygote->pid, NULL, &regs) == 0 &&
                ptrace(PTRACE_SYSCALL, zygote->pid, NULL, 0) == 0 &&
                waitpid(zygote->pid, &status, __WALL) == zygote->pid && WIFSTOPPED(status) &&
                ptrace(PTRACE_GETREGS, zygote->pid, NULL, &regs) == 0 &&
                regs.rax < (unsigned long long)-PC_STUB_PAGE;
    zygote->stub = regs.rax;
    if (!good || ptrace(PTRACE_SETOPTIONS, zygote->pid, NULL, PTRACE_O_EXITKILL) != 0 ||
        !write_stub(zygote)) {
        snprintf(zygote->reason, sizeof(zygote->reason), "code cannot be put into it");
        return false;
    }
    return true;
}

/* One descriptor of the zygote. */
static bool hold(struct pc_zygote *zygote, int pidfd, int number) {
    struct stat status;
    int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    if (fd < 0 || fstat(fd, &status) != 0) {
        return false;
    }
    if (status.st_dev == zygote->output.st_dev && status.st_ino == zygote->output.st_ino) {
        close(fd);
        return true; /* emptied after each run */
    }
    bool device = S_ISCHR(status.st_mode) && major(status.st_rdev) == 1; /* null, zero, random */
    bool file = (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) && zygote->file_count < PC_MOST_FILES &&
                (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
    if (!file) {
        close(fd);
        return device;
    }
    zygote->files[zygote->file_count++] = (struct pc_held_file){fd, lseek(fd, 0, SEEK_CUR)};
    return true;
}

bool pc_hold_files(struct pc_zygote *zygote) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", zygote->pid);
    DIR *folder = opendir(path);
    int pidfd = (int)syscall(SYS_pidfd_open, zygote->pid, 0);
    bool good = folder != NULL && pidfd >= 0;
    for (struct dirent *entry; good && (entry = readdir(folder)) != NULL;) {
        good = entry->d_name[0] == '.' || hold(zygote, pidfd, atoi(entry->d_name));
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (pidfd >= 0) {
        close(pidfd);
    }
    if (!good) {
        snprintf(zygote->reason, sizeof(zygote->reason), "it holds a file that forks cannot share");
    }
    return good;
}

/* Whether the data folder is the one it was started in, as it may be the current folder, too. */
static bool at_home(const struct pc_zygote *zygote, const struct pc_private *place, struct stat *now) {
    return stat(place->folder, now) == 0 && now->st_dev == zygote->folder.st_dev &&
           now->st_ino == zygote->folder.st_ino;
}

/* Whether what it has seen before the point is the same in this image. */
static bool fits(const struct pc_zygote *zygote, const struct stat *folder) {
    const struct stat now = *folder, *then = &zygote->folder;
    if (zygote->looked && (now.st_mode != then->st_mode || now.st_nlink != then->st_nlink ||
                           now.st_uid != then->st_uid || now.st_gid != then->st_gid)) {
        return false;
    }
    for (int i = 0; i < zygote->absent_count; i++) {
        if (faccessat(AT_FDCWD, zygote->absent[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) {
            return false;
        }
    }
    return true;
}

/* Keeps the zygote and us on the processor where we are, until pc_zygote_leave. */
static void share_processor(struct pc_zygote *zygote) {
    cpu_set_t one;
    int processor = sched_getcpu();
    if (CPU_COUNT(&zygote->processors) < 2 || processor < 0 || processor >= CPU_SETSIZE ||
        !CPU_ISSET(processor, &zygote->processors) ||
        sched_getaffinity(0, sizeof(zygote->ours), &zygote->ours) != 0) {
        return;
    }
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    if (zygote->processor != processor && sched_setaffinity(zygote->pid, sizeof(one), &one) != 0) {
        return;
    }
    zygote->processor = processor;
    zygote->shared = sched_setaffinity(0, sizeof(one), &one) == 0;
}

void pc_zygote_leave(struct pc_zygote *zygote) {
    if (zygote->shared) {
        (void)sched_setaffinity(0, sizeof(zygote->ours), &zygote->ours);
        zygote->shared = false;
    }
}

/* The number of its thread, which the C library has in its memory, stays that of the zygote: a recursive lock
 * that is held at the point (SQLite's) knows its owner by that, and would never be had again. */
pid_t pc_zygote_fork(struct pc_zygote *zygote, const struct pc_private *place) {
    struct stat folder;
    if (!at_home(zygote, place, &folder)) {
        return -1;
    }
    if (!fits(zygote, &folder)) {
        return 0;
    }
    for (int i = 0; i < zygote->file_count; i++) {
        lseek(zygote->files[i].fd, zygote->files[i].position, SEEK_SET);
    }
    share_processor(zygote);
    struct user_regs_struct regs = zygote->regs;
    regs.rip = zygote->stub;
    regs.orig_rax = (unsigned long long)-1; /* no call that the kernel might want to start again */
    regs.rax = SYS_clone;
    regs.rdi = CLONE_PARENT | SIGCHLD;
    regs.rsi = regs.rdx = regs.r10 = regs.r8 = 0;
    int status;
    if (ptrace(PTRACE_SETREGS, zygote->pid, NULL, &regs) != 0 ||
        ptrace(PTRACE_CONT, zygote->pid, NULL, 0) != 0) {
        return -1;
    }
    while (waitpid(zygote->pid, &status, __WALL) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
        ptrace(PTRACE_GETREGS, zygote->pid, NULL, &regs) != 0 || (long long)regs.rax <= 0) {
        return -1;
    }
    return (pid_t)regs.rax;
}

void pc_zygote_end(struct pc_zygote *zygote) {
    if (zygote->pid > 0) {
        kill(zygote->pid, SIGKILL);
        while (waitpid(zygote->pid, NULL, __WALL) < 0 && errno == EINTR) {
        }
    }
    for (int i = 0; i < zygote->file_count; i++) {
        close(zygote->files[i].fd);
    }
    for (int i = 0; i < zygote->absent_count; i++) {
        free(zygote->absent[i]);
    }
    int strict_from = zygote->strict_from;
    bool lenient = zygote->lenient;
    memset(zygote, 0, sizeof(*zygote));
    zygote->strict_from = strict_from;
    zygote->lenient = lenient;
}
