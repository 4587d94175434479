/* Calls that look at bytes, mappings, programs or other processes have a decoder each; those that stand in
 * the table of shapes (looks/call_shapes.c) share one.
 *
 * A call that is in neither gives a note: the filter lets nothing through that is not known to be blind. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "loads/tell.h"
#include "looks/looks.h"
#include "looks/mappings.h"

enum { PAGE = 4096, VECTOR_LIMIT = 1024 };

static uint64_t vector_length(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct iovec vector[VECTOR_LIMIT];
    uint64_t total = 0, count = thread->call.arg[2];
    if (count > VECTOR_LIMIT)
        return 0; /* the kernel refuses it */
    if (pc_peek(thread, thread->call.arg[1], vector, count * sizeof(vector[0])) != count * sizeof(vector[0]))
        return PC_LOOK_ALL;
    for (uint64_t i = 0; i < count; i++)
        total = vector[i].iov_len > PC_LOOK_ALL - total ? PC_LOOK_ALL : total + vector[i].iov_len;
    return total;
}

/* Bytes of a descriptor from `offset` on; PC_LOOK_ALL: from its position. Where several threads may move the
 * position before the call is done, that is anywhere in the file. */
static void look_bytes(struct pc_recorder *recorder, struct pc_thread *thread, int fd, uint64_t offset,
                       uint64_t length) {
    struct stat status;
    int copy = pc_look_fd(recorder, thread, fd, &status);
    if (copy < 0)
        return;
    if (offset == PC_LOOK_ALL) {
        off_t position = lseek(copy, 0, SEEK_CUR);
        bool shared = position < 0 || recorder->several;
        offset = shared ? 0 : (uint64_t)position;
        length = shared ? PC_LOOK_ALL : length;
    }
    close(copy);
    if (S_ISREG(status.st_mode) && length > 0)
        pc_look(recorder, &status, PC_LOOK_DATA, offset, length);
}

/* Where a call that is given a pointer to an offset starts. */
static uint64_t peek_offset(const struct pc_thread *thread, uint64_t address, uint64_t *length) {
    uint64_t offset;
    if (address == 0)
        return PC_LOOK_ALL;
    if (pc_peek(thread, address, &offset, sizeof(offset)) == sizeof(offset))
        return offset;
    *length = PC_LOOK_ALL;
    return 0;
}

/* Bytes that the kernel copies from one file to another. */
static void look_copy(struct pc_recorder *recorder, struct pc_thread *thread, int fd, uint64_t address,
                      uint64_t length) {
    uint64_t offset = peek_offset(thread, address, &length);
    look_bytes(recorder, thread, fd, offset, length);
}

/* Where an appended byte lands depends on the size. */
static void look_append(struct pc_recorder *recorder, struct pc_thread *thread, int fd, bool always) {
    struct stat status;
    int copy = pc_look_fd(recorder, thread, fd, &status);
    if (copy < 0)
        return;
    if (always || (fcntl(copy, F_GETFL) & O_APPEND) != 0)
        pc_look(recorder, &status, PC_LOOK_FACTS, 0, 0);
    close(copy);
}

/* A size that the program gives a file is no news to it later. Written down only where the call cannot fail:
 * shrinking through a descriptor that may write, with no other thread that could look meanwhile. */
static void look_cut(struct pc_recorder *recorder, struct pc_thread *thread) {
    uint64_t length = thread->call.arg[1];
    struct stat status;
    int copy = pc_look_fd(recorder, thread, (int)thread->call.arg[0], &status);
    if (copy < 0)
        return;
    int flags = fcntl(copy, F_GETFL);
    bool writable = flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
    if (writable && !recorder->several && S_ISREG(status.st_mode) && length <= (uint64_t)status.st_size)
        pc_look(recorder, &status, PC_LOOK_CUT, 0, length);
    close(copy);
}

/* The filter lets the harmless ones through. */
static void look_ioctl(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    int64_t source = (int64_t)arg[2];
    switch ((unsigned)arg[1]) {
    case FICLONERANGE: /* its argument starts with the source's descriptor */
        if (pc_peek(thread, arg[2], &source, sizeof(source)) != sizeof(source))
            return;
        /* fall through */
    case FICLONE:
        look_bytes(recorder, thread, (int)source, 0, PC_LOOK_ALL);
        return;
    case FIDEDUPERANGE:
        pc_note(recorder, NULL, "it compares files inside the kernel");
        return;
    default:
        pc_look_at_fd(recorder, thread, (int)arg[0], PC_SEEN_UNSURE);
    }
}

static void look_map(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    struct stat status;
    int copy = (arg[3] & MAP_ANONYMOUS) != 0 ? -1 : pc_look_fd(recorder, thread, (int)arg[4], &status);
    if (copy < 0)
        return;
    close(copy);
    uint64_t length = arg[1] > PC_LOOK_ALL - PAGE ? PC_LOOK_ALL : (arg[1] + PAGE - 1) / PAGE * PAGE;
    if (!pc_mappings_begin(recorder, thread, &status, arg[5], length))
        pc_look(recorder, &status, PC_LOOK_MAP, arg[5], length);
}

/* Another process may look at the data folder, or know what nobody recorded: such a run is not understood,
 * unless nobody is there. */
static void look_socket(struct pc_recorder *recorder, struct pc_thread *thread, bool peer) {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
    } address = {0};
    size_t length = thread->call.arg[2] < sizeof(address) ? thread->call.arg[2] : sizeof(address);
    struct pc_looked looked = {.fd = -1};
    bool local = pc_peek(thread, thread->call.arg[1], &address, length) == length &&
                 address.any.sa_family == AF_UNIX && address.local.sun_path[0] != '\0';
    if (local) {
        char name[sizeof(address.local.sun_path) + 1] = "";
        memcpy(name, address.local.sun_path, sizeof(address.local.sun_path));
        pc_look_walk(recorder, thread, AT_FDCWD, name, &looked);
        peer = peer && (looked.fd >= 0 || (name[0] == '/' && access(name, F_OK) == 0));
    }
    if (looked.fd >= 0)
        close(looked.fd);
    if (peer)
        pc_note(recorder, NULL, "it talks to another process over a socket");
}

static void look_exec(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t address) {
    char name[PATH_MAX];
    if (!pc_look_peek(recorder, thread, address, name))
        return;
    if (name[0] == '\0') {
        look_bytes(recorder, thread, dirfd, 0, PC_LOOK_ALL);
        pc_note(recorder, NULL, "it executes a file without a name");
        return;
    }
    pc_look_exec(recorder, thread, dirfd, name);
}

/* Calls that read and write; false: not one of them. */
static bool look_at_transfer(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    switch (thread->call.number) {
    case SYS_read:
        look_bytes(recorder, thread, (int)arg[0], PC_LOOK_ALL, arg[2]);
        return true;
    case SYS_pread64:
        look_bytes(recorder, thread, (int)arg[0], arg[3], arg[2]);
        return true;
    case SYS_readv:
        look_bytes(recorder, thread, (int)arg[0], PC_LOOK_ALL, vector_length(recorder, thread));
        return true;
    case SYS_preadv:
    case SYS_preadv2: /* an offset of -1 means the position */
        look_bytes(recorder, thread, (int)arg[0], arg[3] == UINT64_MAX ? PC_LOOK_ALL : arg[3],
                   vector_length(recorder, thread));
        return true;
    case SYS_sendfile:
        look_copy(recorder, thread, (int)arg[1], arg[2], arg[3]);
        look_append(recorder, thread, (int)arg[0], false);
        return true;
    case SYS_copy_file_range:
    case SYS_splice:
        look_copy(recorder, thread, (int)arg[0], arg[1], arg[4]);
        look_append(recorder, thread, (int)arg[2], false);
        return true;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
        look_append(recorder, thread, (int)arg[0], false);
        return true;
    case SYS_pwritev2:
        look_append(recorder, thread, (int)arg[0], true);
        return true;
    default:
        return false;
    }
}

/* Calls that change what a name, a position or an address means; false: not one of them. */
static bool look_at_change(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    switch (thread->call.number) {
    case SYS_lseek: /* to the end; the filter lets through what does not look */
        pc_look_at_fd(recorder, thread, (int)arg[0], arg[2] == SEEK_END ? PC_SEEN_FACTS : PC_SEEN_UNSURE);
        return true;
    case SYS_fallocate:
        if ((arg[1] & ~(uint64_t)(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
            pc_look_at_fd(recorder, thread, (int)arg[0], PC_SEEN_UNSURE);
        return true;
    case SYS_ftruncate:
        look_cut(recorder, thread);
        return true;
    case SYS_ioctl:
        look_ioctl(recorder, thread);
        return true;
    case SYS_mmap:
        look_map(recorder, thread);
        return true;
    case SYS_mremap:
        if (arg[2] > arg[1] || arg[1] == 0)
            pc_emit(recorder, &(struct pc_event){.kind = PC_LOOK_REMAP});
        return true;
    case SYS_munmap: /* no looks, but the end of some: pc_mappings_before */
    case SYS_madvise:
    case SYS_exit:
    case SYS_exit_group:
        return true;
    case SYS_connect:
    case SYS_bind:
        look_socket(recorder, thread, thread->call.number == SYS_connect);
        return true;
    case SYS_chdir:
        pc_look_at_name(recorder, thread, AT_FDCWD, arg[0], 0);
        pc_look_moved(recorder);
        return true;
    case SYS_fchdir:
        pc_look_moved(recorder);
        return true;
    case SYS_execve:
        look_exec(recorder, thread, AT_FDCWD, arg[0]);
        return true;
    case SYS_execveat:
        look_exec(recorder, thread, (int)arg[0], arg[1]);
        return true;
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
        recorder->several = true;
        return true;
    default:
        return false;
    }
}

void pc_look_call(struct pc_recorder *recorder, struct pc_thread *thread) {
    if (thread->call.number == PC_TELL_CALL)
        return pc_mappings_tell(recorder, thread);
    pc_mappings_before(recorder, thread);
    if (!pc_look_by_shape(recorder, thread) && !look_at_transfer(recorder, thread) &&
        !look_at_change(recorder, thread))
        pc_note(recorder, NULL, "it uses unknown system call %d", thread->call.number);
}
