/* Before: a thread traced with PTRACE_O_TRACESECCOMP. After: each call listed here gives a
 * PTRACE_EVENT_SECCOMP stop; every other call, and every call of another ABI, runs at full speed.
 *
 * Calls whose arguments tell that they change nothing (an open without O_CREAT or O_TRUNC, a private mapping)
 * are told apart here, in the kernel, since a stop costs some hundred times more than this test.
 * Calls that are always allowed never run the filter at all: the kernel keeps a bitmap of them. */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../grind/channel.h"
#include "bpf.h"

#define STOP_AT(number) SKIP_UNLESS_EQ((number), 1), TRACE

/* An open matters if it can make, empty or secretly hold a file; later writes are seen by themselves. */
#define OPEN_BITS (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

/* Numbers that older kernel headers do not name. */
#define NR_FCHMODAT2     452
#define NR_SETXATTRAT    463
#define NR_REMOVEXATTRAT 466

#define STOP_IF_OPEN(number, argument)                                                                       \
    SKIP_UNLESS_EQ((number), 4), LOAD(args[argument]), SKIP_UNLESS_ANY(OPEN_BITS, 1), TRACE, ALLOW

/* Only shared, writable mappings of files can change one. */
#define STOP_IF_MMAP                                                                                         \
    SKIP_UNLESS_EQ(SYS_mmap, 7), LOAD(args[3]), SKIP_IF_ANY(MAP_ANONYMOUS, 4),                               \
        SKIP_UNLESS_ANY(MAP_SHARED, 3), LOAD(args[2]), SKIP_UNLESS_ANY(PROT_WRITE, 1), TRACE, ALLOW

#define STOP_IF_CLONE                                                                                        \
    SKIP_UNLESS_EQ(SYS_ioctl, 5), LOAD(args[1]), SKIP_IF_EQ(FICLONE, 1), SKIP_UNLESS_EQ(FICLONERANGE, 1),    \
        TRACE, ALLOW

/* What the C library asks before it decides how to buffer standard output. */
#define STOP_IF_STDOUT(number)                                                                               \
    SKIP_UNLESS_EQ((number), 4), LOAD(args[0]), SKIP_UNLESS_EQ(STDOUT_FILENO, 1), TRACE, ALLOW

/* No option of the kernel's, but what the memory tracer asks us with. */
#define STOP_IF_ASKED SKIP_UNLESS_EQ(SYS_prctl, 4), LOAD(args[0]), SKIP_UNLESS_EQ(PC_REQUEST, 1), TRACE, ALLOW

static struct sock_filter program[] = {
    LOAD(arch),
    SKIP_IF_EQ(AUDIT_ARCH_X86_64, 1),
    ALLOW,
    LOAD(nr),
    STOP_AT(SYS_write),
    STOP_AT(SYS_pwrite64),
    STOP_AT(SYS_close),
    STOP_AT(SYS_dup2),
    STOP_AT(SYS_dup3),
    STOP_IF_OPEN(SYS_openat, 2),
    STOP_IF_OPEN(SYS_open, 1),
    STOP_IF_MMAP,
    STOP_IF_CLONE,
    STOP_IF_STDOUT(SYS_fstat),
    STOP_IF_STDOUT(SYS_newfstatat),
    /* data */
    STOP_AT(SYS_writev),
    STOP_AT(SYS_pwritev),
    STOP_AT(SYS_pwritev2),
    STOP_AT(SYS_sendfile),
    STOP_AT(SYS_splice),
    STOP_AT(SYS_vmsplice),
    STOP_AT(SYS_copy_file_range),
    STOP_AT(SYS_truncate),
    STOP_AT(SYS_ftruncate),
    STOP_AT(SYS_fallocate),
    /* names */
    STOP_AT(SYS_openat2),
    STOP_AT(SYS_creat),
    STOP_AT(SYS_rename),
    STOP_AT(SYS_renameat),
    STOP_AT(SYS_renameat2),
    STOP_AT(SYS_link),
    STOP_AT(SYS_linkat),
    STOP_AT(SYS_symlink),
    STOP_AT(SYS_symlinkat),
    STOP_AT(SYS_unlink),
    STOP_AT(SYS_unlinkat),
    STOP_AT(SYS_rmdir),
    STOP_AT(SYS_mkdir),
    STOP_AT(SYS_mkdirat),
    STOP_AT(SYS_mknod),
    STOP_AT(SYS_mknodat),
    STOP_AT(SYS_bind),
    /* attributes */
    STOP_AT(SYS_chmod),
    STOP_AT(SYS_fchmod),
    STOP_AT(SYS_fchmodat),
    STOP_AT(NR_FCHMODAT2),
    STOP_AT(SYS_chown),
    STOP_AT(SYS_fchown),
    STOP_AT(SYS_lchown),
    STOP_AT(SYS_fchownat),
    STOP_AT(SYS_setxattr),
    STOP_AT(SYS_lsetxattr),
    STOP_AT(SYS_fsetxattr),
    STOP_AT(NR_SETXATTRAT),
    STOP_AT(SYS_removexattr),
    STOP_AT(SYS_lremovexattr),
    STOP_AT(SYS_fremovexattr),
    STOP_AT(NR_REMOVEXATTRAT),
    /* durability */
    STOP_AT(SYS_fsync),
    STOP_AT(SYS_fdatasync),
    STOP_AT(SYS_sync),
    STOP_AT(SYS_syncfs),
    STOP_AT(SYS_sync_file_range),
    STOP_AT(SYS_msync),
    /* outputs */
    STOP_AT(SYS_sendto),
    STOP_AT(SYS_sendmsg),
    STOP_AT(SYS_sendmmsg),
    /* ways to write that no stop shows: refused by the tracer */
    STOP_AT(SYS_io_uring_setup),
    STOP_AT(SYS_io_setup),
    STOP_IF_ASKED,
    /* what must not be seen: shared_cpu.h */
    STOP_AT(SYS_sched_getaffinity),
    STOP_AT(SYS_sched_setaffinity),
    ALLOW,
};

int pc_install_filter(void) {
    const struct sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    /* SPEC_ALLOW: the filter is no sandbox, so the program must not pay for the mitigations of one. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0)
        return 0;
    return -errno;
}
