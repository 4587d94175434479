/* Calls that make things durable: fsync, fdatasync, sync, syncfs, sync_file_range.
 *
 * They take their turn like writes do: a write that went on beside a sync and finished before it would
 * otherwise stand before it in the trace, as if the sync had covered it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/border.h"

static enum pc_verdict enter_fd(struct pc_recorder *recorder, struct pc_thread *thread) {
    enum pc_target target = pc_call_target(recorder, thread, (int)thread->call.arg[0]);
    if (target == PC_TARGET_NONE && thread->call.fd >= 0)
        pc_border_synced(recorder, &thread->call.status);
    return target == PC_TARGET_FILE ? PC_TURN : PC_SKIP;
}

static enum pc_verdict enter_sync(struct pc_recorder *recorder, struct pc_thread *thread) {
    return PC_TURN;
}

/* It syncs the data if the descriptor is on the file system of the user's folder. What lies in the data
 * folder is, while recorded, in a copy, often on another file system, whose other files say nothing about the
 * data. Subvolumes of one btrfs differ in their devices: a sync through another one is not believed, since a
 * guarantee that nobody gave would hide mistakes. */
static enum pc_verdict enter_syncfs(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    call->fd = pc_dup_remote(thread, (int)call->arg[0]);
    if (call->fd < 0 || fstat(call->fd, &call->status) != 0)
        return PC_SKIP;
    bool inside = call->status.st_dev == recorder->dir_dev && pc_fd_inside(recorder, call->fd, &call->status);
    if (!inside && call->status.st_dev != recorder->original_dev)
        return PC_SKIP;
    if (!inside)
        call->status.st_ino = 0;
    return PC_TURN;
}

static void leave_fsync(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    if (call->result < 0)
        return;
    struct pc_event event =
        pc_event_of(recorder, thread, call->number == SYS_fsync ? PC_FSYNC : PC_FDATASYNC);
    event.inode = call->status.st_ino;
    if (S_ISREG(call->status.st_mode) && (call->open_flags & O_ACCMODE) == O_RDONLY)
        event.flags = PC_FLAG_READONLY;
    pc_emit(recorder, &event);
}

static void leave_sync(struct pc_recorder *recorder, struct pc_thread *thread) {
    pc_border_all_synced(recorder);
    struct pc_event event = pc_event_of(recorder, thread, PC_SYNC);
    pc_emit(recorder, &event);
}

static void leave_syncfs(struct pc_recorder *recorder, struct pc_thread *thread) {
    if (thread->call.result < 0)
        return;
    pc_border_all_synced(recorder);
    struct pc_event event = pc_event_of(recorder, thread, PC_SYNCFS);
    event.inode = thread->call.status.st_ino;
    pc_emit(recorder, &event);
}

static void leave_sync_range(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    if (call->result < 0)
        return;
    struct pc_event event = pc_event_of(recorder, thread, PC_SYNC_RANGE);
    event.inode = call->status.st_ino;
    event.offset = call->arg[1];
    event.length = call->arg[2];
    event.extra = (unsigned)call->arg[3];
    pc_emit(recorder, &event);
}

const struct pc_call_entry pc_calls_sync[] = {
    {SYS_fsync, {enter_fd, leave_fsync, true, NULL}},
    {SYS_fdatasync, {enter_fd, leave_fsync, true, NULL}},
    {SYS_sync, {enter_sync, leave_sync, true, NULL}},
    {SYS_syncfs, {enter_syncfs, leave_syncfs, true, NULL}},
    {SYS_sync_file_range, {enter_fd, leave_sync_range, true, NULL}},
    {0, {NULL, NULL, false, NULL}},
};
