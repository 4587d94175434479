/* Calls that change a file's length or attributes: truncate, fallocate, chmod, chown, xattr.
 *
 * Before `leave`: call.fd is the file, call.status how it was at the entry. After: one event with how it is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/calls.h"

#define NR_FCHMODAT2     452
#define NR_SETXATTRAT    463
#define NR_REMOVEXATTRAT 466

static enum pc_verdict enter_fd(struct pc_recorder *recorder, struct pc_thread *thread) {
    enum pc_target target = pc_call_target(recorder, thread, (int)thread->call.arg[0]);
    return target == PC_TARGET_FILE ? PC_TURN : PC_SKIP;
}

static enum pc_verdict enter_path(struct pc_recorder *recorder, struct pc_thread *thread) {
    return pc_call_path(recorder, thread, AT_FDCWD, thread->call.arg[0], PC_FOLLOW, 0);
}

static enum pc_verdict enter_link(struct pc_recorder *recorder, struct pc_thread *thread) {
    return pc_call_path(recorder, thread, AT_FDCWD, thread->call.arg[0], PC_NO_FOLLOW, 0);
}

/* Calls with a folder, a path, and flags in some argument. */
static enum pc_verdict enter_at(struct pc_recorder *recorder, struct pc_thread *thread, int at_flags) {
    const uint64_t *arg = thread->call.arg;
    enum pc_follow follow = (at_flags & AT_SYMLINK_NOFOLLOW) != 0 ? PC_NO_FOLLOW : PC_FOLLOW;
    return pc_call_path(recorder, thread, (int)arg[0], arg[1], follow, at_flags);
}

static enum pc_verdict enter_fchmodat(struct pc_recorder *recorder, struct pc_thread *thread) {
    bool has_flags = thread->call.number == NR_FCHMODAT2;
    return enter_at(recorder, thread, has_flags ? (int)thread->call.arg[3] : 0);
}

static enum pc_verdict enter_fchownat(struct pc_recorder *recorder, struct pc_thread *thread) {
    return enter_at(recorder, thread, (int)thread->call.arg[4]);
}

static enum pc_verdict enter_xattrat(struct pc_recorder *recorder, struct pc_thread *thread) {
    return enter_at(recorder, thread, (int)thread->call.arg[2]);
}

/* Whether the call succeeded on a file that is known; says so where it is not. */
static bool done(struct pc_recorder *recorder, struct pc_thread *thread, const char *what) {
    if (thread->call.result < 0)
        return false;
    if (thread->call.fd < 0)
        pc_call_lost(recorder, thread, what);
    return thread->call.fd >= 0;
}

static void leave_truncate(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    if (!done(recorder, thread, "truncate"))
        return;
    struct pc_event event = pc_event_of(recorder, thread, PC_TRUNCATE);
    event.inode = call->status.st_ino;
    event.length = call->arg[1];
    event.extra = (uint64_t)call->status.st_size;
    pc_emit(recorder, &event);
}

static void leave_fallocate(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    if (!done(recorder, thread, "fallocate"))
        return;
    struct pc_event event = pc_event_of(recorder, thread, PC_FALLOCATE);
    event.inode = call->status.st_ino;
    event.extra = (unsigned)call->arg[1];
    event.offset = call->arg[2];
    event.length = call->arg[3];
    pc_emit(recorder, &event);
}

static void leave_setattr(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct stat now;
    if (!done(recorder, thread, "chmod or chown"))
        return;
    if (fstat(thread->call.fd, &now) != 0) {
        pc_call_lost(recorder, thread, "chmod or chown");
        return;
    }
    struct pc_event event = pc_event_of(recorder, thread, PC_SETATTR);
    event.inode = now.st_ino;
    event.extra = now.st_mode;
    event.offset = now.st_uid;
    event.length = now.st_gid;
    pc_emit(recorder, &event);
}

static void emit_xattr(struct pc_recorder *recorder, struct pc_thread *thread, uint64_t name_address,
                       uint64_t value_address, uint64_t size, enum pc_event_kind kind) {
    char name[XATTR_NAME_MAX + 1];
    int length = pc_peek_string(thread, name_address, name, sizeof(name));
    struct pc_event event = pc_event_of(recorder, thread, kind);
    if (length < 0 || size > XATTR_SIZE_MAX) {
        pc_call_lost(recorder, thread, "setxattr");
        return;
    }
    event.inode = thread->call.status.st_ino;
    event.path = pc_name(recorder, name);
    event.length = size;
    if (size > 0) {
        void *room = pc_writer_blob_begin(recorder->writer, size, &event.data);
        if (room == NULL)
            return;
        if (pc_peek(thread, value_address, room, size) != size)
            pc_call_lost(recorder, thread, "setxattr");
        pc_writer_blob_commit(recorder->writer, size);
    }
    pc_emit(recorder, &event);
}

static void leave_setxattr(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    if (done(recorder, thread, "setxattr"))
        emit_xattr(recorder, thread, arg[1], arg[2], arg[3], PC_SETXATTR);
}

static void leave_setxattrat(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    struct {
        uint64_t value;
        uint32_t size;
        uint32_t flags;
    } given = {0}; /* struct xattr_args of linux/xattr.h, from 6.13 on */
    if (!done(recorder, thread, "setxattrat"))
        return;
    if (pc_peek(thread, arg[4], &given, sizeof(given)) != sizeof(given))
        pc_call_lost(recorder, thread, "setxattrat");
    else
        emit_xattr(recorder, thread, arg[3], given.value, given.size, PC_SETXATTR);
}

static void leave_removexattr(struct pc_recorder *recorder, struct pc_thread *thread) {
    uint64_t name = thread->call.arg[thread->call.number == NR_REMOVEXATTRAT ? 3 : 1];
    if (done(recorder, thread, "removexattr"))
        emit_xattr(recorder, thread, name, 0, 0, PC_DELXATTR);
}

const struct pc_call_entry pc_calls_attributes[] = {
    {SYS_truncate, {enter_path, leave_truncate, false, NULL}},
    {SYS_ftruncate, {enter_fd, leave_truncate, false, NULL}},
    {SYS_fallocate, {enter_fd, leave_fallocate, false, NULL}},
    {SYS_chmod, {enter_path, leave_setattr, false, NULL}},
    {SYS_fchmod, {enter_fd, leave_setattr, false, NULL}},
    {SYS_fchmodat, {enter_fchmodat, leave_setattr, false, NULL}},
    {NR_FCHMODAT2, {enter_fchmodat, leave_setattr, false, NULL}},
    {SYS_chown, {enter_path, leave_setattr, false, NULL}},
    {SYS_fchown, {enter_fd, leave_setattr, false, NULL}},
    {SYS_lchown, {enter_link, leave_setattr, false, NULL}},
    {SYS_fchownat, {enter_fchownat, leave_setattr, false, NULL}},
    {SYS_setxattr, {enter_path, leave_setxattr, false, NULL}},
    {SYS_lsetxattr, {enter_link, leave_setxattr, false, NULL}},
    {SYS_fsetxattr, {enter_fd, leave_setxattr, false, NULL}},
    {NR_SETXATTRAT, {enter_xattrat, leave_setxattrat, false, NULL}},
    {SYS_removexattr, {enter_path, leave_removexattr, false, NULL}},
    {SYS_lremovexattr, {enter_link, leave_removexattr, false, NULL}},
    {SYS_fremovexattr, {enter_fd, leave_removexattr, false, NULL}},
    {NR_REMOVEXATTRAT, {enter_xattrat, leave_removexattr, false, NULL}},
    {0, {NULL, NULL, false, NULL}},
};
