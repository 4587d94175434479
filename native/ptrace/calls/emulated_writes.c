/* Emulated writes: the tracer makes the write itself, and the program's own call is never made.
 *
 * A call that is only watched costs the program two stops, one before it and one after it to learn its
 * result, and the tracer copies the bytes from the program in any case, for the trace. So where that makes no
 * difference, the tracer writes these bytes to the file itself, through a duplicate of the program's own
 * descriptor (so that offset and flags are the program's), cancels the call, and puts its result into the
 * thread's registers. That saves the second stop, and what is recorded is exactly what was written, even if
 * another thread changes the buffer meanwhile.
 *
 * Before: a thread at the entry of write or pwrite64 to a regular file of the data folder, and no other call
 * that changes the folder in flight. After true: the bytes are in the file and in the trace, and call.result
 * is what the program is to be told. After false: nothing was written; the thread must make the call.
 *
 * Whatever could make a difference who writes is left to the program: limits on its file sizes, bits that a
 * write takes away, direct and synchronous writes, unreadable memory, large writes that would hold up others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/calls.h"

enum { LARGEST = 1 << 20 };

static bool limited(const struct pc_thread *thread) {
    struct rlimit limit;
    return prlimit(thread->tid, RLIMIT_FSIZE, NULL, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

static bool may_emulate(const struct pc_recorder *recorder, const struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    if (!recorder->shortcuts || call->arg[2] == 0 || call->arg[2] > LARGEST)
        return false;
    if ((call->open_flags & (O_DIRECT | O_SYNC | O_DSYNC)) != 0)
        return false;
    if ((call->status.st_mode & (S_ISUID | S_ISGID)) != 0)
        return false;
    return !limited(thread);
}

bool pc_emulate_write(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    uint64_t data;
    size_t length = call->arg[2];
    if (!may_emulate(recorder, thread))
        return false;
    void *room = pc_writer_blob_begin(recorder->writer, length, &data);
    if (room == NULL || pc_peek(thread, call->arg[1], room, length) != length)
        return false;
    ssize_t written = call->number == SYS_write ? write(call->fd, room, length)
                                                : pwrite(call->fd, room, length, (off_t)call->arg[3]);
    if (written < 0 && (errno == EFAULT || errno == EINTR || errno == EAGAIN))
        return false; /* ours, not the program's */
    call->result = written < 0 ? -errno : written;
    if (written <= 0)
        return true;
    pc_writer_blob_commit(recorder->writer, (uint64_t)written);
    struct pc_event event = pc_write_event(recorder, thread);
    event.data = data;
    pc_emit(recorder, &event);
    return true;
}
