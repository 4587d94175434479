/* Before: a thread that nobody traces, waiting in its seccomp filter. After pc_release: the same thread, its
 * registers and signal mask as its own call has left them. */
#define _GNU_SOURCE
#include "looks/held_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Names that older headers lack. */
#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

enum { MASK_BYTES = 8, SYSCALL_BYTES = 2 };

bool pc_hold(struct pc_grip *grip, pid_t tid) {
    *grip = (struct pc_grip){.tid = tid};
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return false;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
        return true;
    pc_release(grip);
    return false;
}

static bool wait_for(struct pc_grip *grip, int *status) {
    pid_t got;
    while ((got = waitpid(grip->tid, status, __WALL)) < 0 && errno == EINTR) {
    }
    if (got == grip->tid && WIFSTOPPED(*status))
        return true;
    grip->ended = got == grip->tid;
    grip->status = *status;
    return false;
}

bool pc_held(struct pc_grip *grip, int64_t *result) {
    int status = 0;
    struct user_regs_struct regs;
    if (!wait_for(grip, &status))
        return false;
    bool stopped = status >> 16 == PTRACE_EVENT_STOP;
    if (stopped && ptrace(PTRACE_GETREGS, grip->tid, NULL, &regs) == 0) {
        *result = (int64_t)regs.rax;
        return true;
    }
    /* A signal came first: it is the program's. */
    (void)ptrace(PTRACE_DETACH, grip->tid, NULL, (void *)(intptr_t)(stopped ? 0 : WSTOPSIG(status)));
    return false;
}

/* The thread stands behind the instruction that made its own call: it is sent over that once more. */
static int64_t call(struct pc_grip *grip, const struct user_regs_struct *before, uint64_t secret,
                    int64_t number, uint64_t argument) {
    struct user_regs_struct regs = *before;
    int status = 0;
    regs.rip -= SYSCALL_BYTES;
    regs.rax = (uint64_t)number;
    regs.orig_rax = UINT64_MAX; /* nothing is to be restarted */
    regs.rdi = argument;
    regs.r9 = secret;
    if (ptrace(PTRACE_SETREGS, grip->tid, NULL, &regs) != 0 ||
        ptrace(PTRACE_SINGLESTEP, grip->tid, NULL, NULL) != 0 || !wait_for(grip, &status) ||
        WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETREGS, grip->tid, NULL, &regs) != 0)
        return -ESRCH;
    return (int64_t)regs.rax;
}

int64_t pc_have_called(struct pc_grip *grip, uint64_t secret, int64_t number, uint64_t argument) {
    pid_t tid = grip->tid;
    static const unsigned char instruction[SYSCALL_BYTES] = {0x0f, 0x05};
    unsigned char there[SYSCALL_BYTES];
    struct user_regs_struct regs;
    uint64_t mask, all = UINT64_MAX;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) != 0)
        return -errno;
    struct iovec local = {.iov_base = there, .iov_len = sizeof(there)};
    struct iovec remote = {.iov_base = (void *)(regs.rip - SYSCALL_BYTES), .iov_len = sizeof(there)};
    if (process_vm_readv(tid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(there) ||
        memcmp(there, instruction, sizeof(there)) != 0)
        return -ENOEXEC;
    if (ptrace(PTRACE_GETSIGMASK, tid, (void *)MASK_BYTES, &mask) != 0 ||
        ptrace(PTRACE_SETSIGMASK, tid, (void *)MASK_BYTES, &all) != 0)
        return -errno;
    int64_t result = call(grip, &regs, secret, number, argument);
    (void)ptrace(PTRACE_SETREGS, tid, NULL, &regs);
    (void)ptrace(PTRACE_SETSIGMASK, tid, (void *)MASK_BYTES, &mask);
    return result;
}

void pc_release(struct pc_grip *grip) {
    (void)ptrace(PTRACE_DETACH, grip->tid, NULL, NULL);
}
