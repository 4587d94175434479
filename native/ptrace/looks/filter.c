/* After: calls that cannot look at any file run at full speed; each other call, known or not, waits until the
 * owner of the listener lets it go on.
 *
 * A program of another ABI is ended at its first call: nothing of it could be decoded. */
#define _GNU_SOURCE
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A name that older kernel headers lack. */
#define WAIT_KILLABLE_RECV (1UL << 5)

#include "bpf.h"
#include "looks/looks.h"

#define NOTIFY        RETURN(SECCOMP_RET_USER_NOTIF)
#define BLIND(number) SKIP_UNLESS_EQ((number), 1), ALLOW

/* Setting a position, or asking for it, looks at nothing. */
#define BLIND_SEEK SKIP_UNLESS_EQ(SYS_lseek, 4), LOAD(args[2]), SKIP_IF_MORE(SEEK_CUR, 1), ALLOW, NOTIFY

/* Memory of no file, where nothing was. */
#define BLIND_MMAP                                                                                           \
    SKIP_UNLESS_EQ(SYS_mmap, 5), LOAD(args[3]), SKIP_IF_ANY(MAP_FIXED, 2),                                   \
        SKIP_UNLESS_ANY(MAP_ANONYMOUS, 1), ALLOW, NOTIFY

/* Advice that takes no page out of a page table. */
#define BLIND_ADVICE                                                                                         \
    SKIP_UNLESS_EQ(SYS_madvise, 6), LOAD(args[2]), SKIP_IF_EQ(MADV_DONTNEED, 3), SKIP_IF_EQ(MADV_REMOVE, 2), \
        SKIP_IF_MORE(MADV_KEEPONFORK, 1), ALLOW, NOTIFY

/* A segment of System V that is new, or has no name: what is in it comes from the program itself. */
#define BLIND_SEGMENT                                                                                        \
    SKIP_UNLESS_EQ(SYS_shmget, 8), LOAD(args[0]), SKIP_UNLESS_EQ(IPC_PRIVATE, 1), ALLOW, LOAD(args[2]),      \
        SKIP_UNLESS_ANY(IPC_CREAT, 2), SKIP_UNLESS_ANY(IPC_EXCL, 1), ALLOW, NOTIFY
#define BLIND_ATTACHING SKIP_UNLESS_EQ(SYS_shmat, 4), LOAD(args[2]), SKIP_IF_ANY(SHM_REMAP, 1), ALLOW, NOTIFY

/* Calls of our own: SECRET is replaced. */
#define SECRET 0
#define OURS   LOAD(args[5]), SKIP_UNLESS_EQ(SECRET, 3), LOAD_HIGH(args[5]), SKIP_UNLESS_EQ(SECRET, 1), ALLOW
enum { SECRET_LOW = 4, SECRET_HIGH = 6 }; /* where it stands in the program */

/* A datagram to an address may be a question to another process. */
#define BLIND_SEND SKIP_UNLESS_EQ(SYS_sendto, 4), LOAD(args[4]), SKIP_UNLESS_EQ(0, 1), ALLOW, NOTIFY

/* A filter of the program's own could hide calls from us. */
#define BLIND_PRCTL SKIP_UNLESS_EQ(SYS_prctl, 4), LOAD(args[0]), SKIP_IF_EQ(PR_SET_SECCOMP, 1), ALLOW, NOTIFY

/* Whether it is a terminal, and closing on exec. */
#define BLIND_IOCTL                                                                                          \
    SKIP_UNLESS_EQ(SYS_ioctl, 7), LOAD(args[1]), SKIP_IF_EQ(TCGETS, 3), SKIP_IF_EQ(TIOCGWINSZ, 2),           \
        SKIP_IF_EQ(FIOCLEX, 1), SKIP_UNLESS_EQ(FIONCLEX, 1), ALLOW, NOTIFY

static struct sock_filter program[] = {
    LOAD(arch),
    SKIP_IF_EQ(AUDIT_ARCH_X86_64, 1),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    OURS,
    LOAD(nr),
    BLIND_SEEK,
    BLIND_MMAP,
    BLIND_ADVICE,
    BLIND_SEND,
    BLIND_PRCTL,
    BLIND_IOCTL,
    BLIND_SEGMENT,
    BLIND_ATTACHING,
    /* memory */
    BLIND(SYS_brk),
    BLIND(SYS_mprotect),
    BLIND(SYS_msync),
    BLIND(SYS_mlock),
    BLIND(SYS_mlock2),
    BLIND(SYS_munlock),
    BLIND(SYS_mlockall),
    BLIND(SYS_munlockall),
    BLIND(SYS_membarrier),
    BLIND(SYS_memfd_create),
    BLIND(SYS_shmctl),
    BLIND(SYS_shmdt),
    BLIND(SYS_get_mempolicy),
    BLIND(SYS_set_mempolicy),
    BLIND(SYS_mbind),
    BLIND(SYS_pkey_alloc),
    BLIND(SYS_pkey_free),
    BLIND(SYS_pkey_mprotect),
    /* descriptors */
    BLIND(SYS_close),
    BLIND(SYS_close_range),
    BLIND(SYS_dup),
    BLIND(SYS_dup2),
    BLIND(SYS_dup3),
    BLIND(SYS_fcntl),
    BLIND(SYS_flock),
    BLIND(SYS_pipe),
    BLIND(SYS_pipe2),
    BLIND(SYS_poll),
    BLIND(SYS_ppoll),
    BLIND(SYS_select),
    BLIND(SYS_pselect6),
    BLIND(SYS_epoll_create),
    BLIND(SYS_epoll_create1),
    BLIND(SYS_epoll_ctl),
    BLIND(SYS_epoll_wait),
    BLIND(SYS_epoll_pwait),
    BLIND(SYS_epoll_pwait2),
    BLIND(SYS_eventfd),
    BLIND(SYS_eventfd2),
    BLIND(SYS_signalfd),
    BLIND(SYS_signalfd4),
    BLIND(SYS_timerfd_create),
    BLIND(SYS_timerfd_settime),
    BLIND(SYS_timerfd_gettime),
    BLIND(SYS_inotify_init),
    BLIND(SYS_inotify_init1),
    BLIND(SYS_inotify_rm_watch),
    BLIND(SYS_tee),
    BLIND(SYS_vmsplice),
    /* files, without a look at them */
    BLIND(SYS_fsync),
    BLIND(SYS_fdatasync),
    BLIND(SYS_sync),
    BLIND(SYS_syncfs),
    BLIND(SYS_sync_file_range),
    BLIND(SYS_fchmod),
    BLIND(SYS_fchown),
    BLIND(SYS_getcwd),
    BLIND(SYS_fstatfs),
    BLIND(SYS_fadvise64),
    BLIND(SYS_readahead),
    BLIND(SYS_umask),
    /* sockets: who is at the other end is seen at connect */
    BLIND(SYS_socket),
    BLIND(SYS_socketpair),
    BLIND(SYS_listen),
    BLIND(SYS_accept),
    BLIND(SYS_accept4),
    BLIND(SYS_getsockname),
    BLIND(SYS_getpeername),
    BLIND(SYS_getsockopt),
    BLIND(SYS_setsockopt),
    BLIND(SYS_shutdown),
    BLIND(SYS_recvfrom),
    BLIND(SYS_recvmsg),
    /* processes, threads, signals */
    BLIND(SYS_wait4),
    BLIND(SYS_waitid),
    BLIND(SYS_kill),
    BLIND(SYS_tkill),
    BLIND(SYS_tgkill),
    BLIND(SYS_pidfd_open),
    BLIND(SYS_pidfd_send_signal),
    BLIND(SYS_getpid),
    BLIND(SYS_getppid),
    BLIND(SYS_gettid),
    BLIND(SYS_getpgid),
    BLIND(SYS_getpgrp),
    BLIND(SYS_getsid),
    BLIND(SYS_setpgid),
    BLIND(SYS_setsid),
    BLIND(SYS_set_tid_address),
    BLIND(SYS_set_robust_list),
    BLIND(SYS_get_robust_list),
    BLIND(SYS_rseq),
    BLIND(SYS_futex),
    BLIND(SYS_futex_waitv),
    BLIND(SYS_sched_yield),
    BLIND(SYS_sched_getaffinity),
    BLIND(SYS_sched_setaffinity),
    BLIND(SYS_sched_getparam),
    BLIND(SYS_sched_setparam),
    BLIND(SYS_sched_getscheduler),
    BLIND(SYS_sched_setscheduler),
    BLIND(SYS_sched_get_priority_max),
    BLIND(SYS_sched_get_priority_min),
    BLIND(SYS_getcpu),
    BLIND(SYS_rt_sigaction),
    BLIND(SYS_rt_sigprocmask),
    BLIND(SYS_rt_sigreturn),
    BLIND(SYS_rt_sigpending),
    BLIND(SYS_rt_sigtimedwait),
    BLIND(SYS_rt_sigsuspend),
    BLIND(SYS_rt_sigqueueinfo),
    BLIND(SYS_rt_tgsigqueueinfo),
    BLIND(SYS_sigaltstack),
    BLIND(SYS_pause),
    BLIND(SYS_alarm),
    BLIND(SYS_arch_prctl),
    BLIND(SYS_personality),
    BLIND(SYS_restart_syscall),
    BLIND(SYS_getuid),
    BLIND(SYS_geteuid),
    BLIND(SYS_getgid),
    BLIND(SYS_getegid),
    BLIND(SYS_getresuid),
    BLIND(SYS_getresgid),
    BLIND(SYS_getgroups),
    BLIND(SYS_setuid),
    BLIND(SYS_setgid),
    BLIND(SYS_setreuid),
    BLIND(SYS_setregid),
    BLIND(SYS_setresuid),
    BLIND(SYS_setresgid),
    BLIND(SYS_setgroups),
    BLIND(SYS_setfsuid),
    BLIND(SYS_setfsgid),
    BLIND(SYS_capget),
    BLIND(SYS_capset),
    BLIND(SYS_getpriority),
    BLIND(SYS_setpriority),
    BLIND(SYS_ioprio_get),
    BLIND(SYS_ioprio_set),
    BLIND(SYS_getrlimit),
    BLIND(SYS_setrlimit),
    BLIND(SYS_prlimit64),
    BLIND(SYS_getrusage),
    /* time, chance, the machine */
    BLIND(SYS_time),
    BLIND(SYS_gettimeofday),
    BLIND(SYS_clock_gettime),
    BLIND(SYS_clock_getres),
    BLIND(SYS_clock_nanosleep),
    BLIND(SYS_nanosleep),
    BLIND(SYS_times),
    BLIND(SYS_getitimer),
    BLIND(SYS_setitimer),
    BLIND(SYS_timer_create),
    BLIND(SYS_timer_settime),
    BLIND(SYS_timer_gettime),
    BLIND(SYS_timer_getoverrun),
    BLIND(SYS_timer_delete),
    BLIND(SYS_getrandom),
    BLIND(SYS_uname),
    BLIND(SYS_sysinfo),
    NOTIFY,
};

static int install(unsigned flags) {
    const struct sock_fprog whole = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags,
                        &whole);
}

int pc_install_looks_filter(uint64_t secret) {
    program[SECRET_LOW].k = (uint32_t)secret;
    program[SECRET_HIGH].k = (uint32_t)(secret >> 32);
    /* A handler that runs in the middle of a call that waits for us would be no handler of a plain run. */
    int listener = install(SECCOMP_FILTER_FLAG_SPEC_ALLOW | WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        listener = install(SECCOMP_FILTER_FLAG_SPEC_ALLOW | WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL) /* a kernel before 5.19 */
        listener = install(SECCOMP_FILTER_FLAG_SPEC_ALLOW);
    return listener < 0 ? -errno : listener;
}
