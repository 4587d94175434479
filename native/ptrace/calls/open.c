/* open and close.
 *
 * Before `leave`: a file that the call may have made or emptied was looked at while no other call could
 * change the data folder. After: PC_CREATE if it is new, PC_TRUNCATE if O_TRUNC took something from it.
 * Opening an existing file changes nothing and gives no event. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/calls.h"
#include "calls/last_reference.h"

static bool is_tmpfile(uint64_t flags) {
    return (flags & O_TMPFILE) == O_TMPFILE;
}

/* A file that is not there yet: the folder it would be made in decides. */
static enum pc_verdict enter_new_file(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd,
                                      const char *name) {
    struct pc_place *place = &thread->call.to;
    pc_place_named(recorder, thread, dirfd, name, place);
    /* A link that leads nowhere may lead anywhere: look where the file is when it has been made. */
    if (!place->known || place->exists)
        return PC_TURN;
    return place->inside ? PC_TURN : PC_SKIP;
}

static enum pc_verdict enter_open(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd,
                                  uint64_t path, uint64_t flags, bool in_root) {
    struct pc_call *call = &thread->call;
    char buffer[PATH_MAX];
    const char *name = buffer;
    call->flags = flags;
    if ((flags & O_PATH) != 0 || ((flags & (O_CREAT | O_TRUNC)) == 0 && !is_tmpfile(flags)))
        return PC_SKIP;
    if (pc_peek_string(thread, path, buffer, sizeof(buffer)) <= 0)
        return PC_SKIP; /* the kernel cannot read it either */
    while (in_root && *name == '/')
        name++;
    bool exclusive = (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0;
    bool follow = (flags & O_NOFOLLOW) == 0 && (is_tmpfile(flags) || !exclusive);
    call->fd = pc_open_named(thread, dirfd, name, follow ? PC_FOLLOW : PC_NO_FOLLOW);
    if (call->fd < 0 && (flags & O_CREAT) != 0)
        return enter_new_file(recorder, thread, dirfd, name);
    if (call->fd < 0 || fstat(call->fd, &call->status) != 0)
        return PC_TURN;
    if (is_tmpfile(flags))
        return pc_fd_inside(recorder, call->fd, &call->status) ? PC_TURN : PC_SKIP;
    /* Opening a FIFO may wait for a peer, and changes nothing. */
    if (!S_ISREG(call->status.st_mode) || !pc_fd_inside(recorder, call->fd, &call->status))
        return PC_SKIP;
    call->existed = true;
    return PC_TURN;
}

static enum pc_verdict enter_open_old(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    return enter_open(recorder, thread, AT_FDCWD, arg[0], (unsigned)arg[1], false);
}

static enum pc_verdict enter_creat(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    return enter_open(recorder, thread, AT_FDCWD, arg[0], O_CREAT | O_WRONLY | O_TRUNC, false);
}

static enum pc_verdict enter_openat(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    return enter_open(recorder, thread, (int)arg[0], arg[1], (unsigned)arg[2], false);
}

static enum pc_verdict enter_openat2(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    struct open_how how;
    if (pc_peek(thread, arg[2], &how, sizeof(how)) != sizeof(how))
        return PC_SKIP;
    bool in_root = (how.resolve & RESOLVE_IN_ROOT) != 0;
    return enter_open(recorder, thread, (int)arg[0], arg[1], how.flags, in_root);
}

static void emit_create(struct pc_recorder *recorder, struct pc_thread *thread, int fd,
                        const struct stat *status) {
    char path[PATH_MAX];
    struct pc_event event = pc_event_of(recorder, thread, PC_CREATE);
    event.inode = status->st_ino;
    event.extra = status->st_mode;
    event.offset = pc_owner(status);
    if (is_tmpfile(thread->call.flags)) {
        event.flags = PC_FLAG_TMPFILE;
    } else {
        const char *name = pc_fd_path(fd, path, sizeof(path)) ? pc_below_dir(recorder, path) : NULL;
        if (name == NULL) {
            pc_call_lost(recorder, thread, "open");
            return;
        }
        event.path = pc_name(recorder, name);
        pc_number_set_add(&recorder->inodes, status->st_ino);
    }
    pc_emit(recorder, &event);
}

static void emit_emptied(struct pc_recorder *recorder, struct pc_thread *thread, uint64_t inode,
                         uint64_t old_size) {
    struct pc_event event = pc_event_of(recorder, thread, PC_TRUNCATE);
    event.flags = PC_FLAG_OPEN;
    event.inode = inode;
    event.extra = old_size;
    pc_emit(recorder, &event);
}

static void leave_open(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    struct stat status;
    if (call->result < 0)
        return;
    int fd = pc_dup_remote(thread, (int)call->result);
    if (fd < 0 || fstat(fd, &status) != 0) {
        if (call->existed ? (call->flags & O_TRUNC) != 0 && call->status.st_size > 0 : call->to.inside)
            pc_call_lost(recorder, thread, "open");
    } else if (S_ISREG(status.st_mode) && pc_fd_inside(recorder, fd, &status)) {
        bool same = call->existed && call->status.st_ino == status.st_ino;
        if (is_tmpfile(call->flags) || (!same && (call->flags & O_CREAT) != 0))
            emit_create(recorder, thread, fd, &status);
        else if (!same || ((call->flags & O_TRUNC) != 0 && call->status.st_size > 0))
            emit_emptied(recorder, thread, status.st_ino, same ? (uint64_t)call->status.st_size : 0);
    }
    if (fd >= 0)
        close(fd);
}

/* A close cannot fail to close, so the event needs no exit stop. Only the last descriptor of an open file
 * counts: file systems act when the open file goes. */
static enum pc_verdict enter_closed_fd(struct pc_recorder *recorder, struct pc_thread *thread, int fd) {
    struct pc_call *call = &thread->call;
    if (pc_call_target(recorder, thread, fd) != PC_TARGET_FILE)
        return PC_SKIP;
    bool writable = (call->open_flags & O_ACCMODE) != O_RDONLY;
    if (!writable || !S_ISREG(call->status.st_mode))
        return PC_SKIP;
    return pc_last_reference(recorder->threads, thread, fd) ? PC_AT_ONCE : PC_SKIP;
}

static enum pc_verdict enter_close(struct pc_recorder *recorder, struct pc_thread *thread) {
    return enter_closed_fd(recorder, thread, (int)thread->call.arg[0]);
}

/* dup2 and dup3 close what they put the duplicate in place of: so do shells end their redirections. */
static enum pc_verdict enter_dup(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    return (int)arg[0] == (int)arg[1] ? PC_SKIP : enter_closed_fd(recorder, thread, (int)arg[1]);
}

static void leave_close(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_event event = pc_event_of(recorder, thread, PC_CLOSE);
    event.inode = thread->call.status.st_ino;
    pc_emit(recorder, &event);
}

const struct pc_call_entry pc_calls_open[] = {
    {SYS_open, {enter_open_old, leave_open, false, NULL}},
    {SYS_creat, {enter_creat, leave_open, false, NULL}},
    {SYS_openat, {enter_openat, leave_open, false, NULL}},
    {SYS_openat2, {enter_openat2, leave_open, false, NULL}},
    {SYS_close, {enter_close, leave_close, false, NULL}},
    {SYS_dup2, {enter_dup, leave_close, false, NULL}},
    {SYS_dup3, {enter_dup, leave_close, false, NULL}},
    {0, {NULL, NULL, false, NULL}},
};
