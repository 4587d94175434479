/* Calls that make or remove one name: mkdir, mknod, symlink, bind, unlink, rmdir.
 *
 * Before `leave`: call.to is the name as it was when no other call could change the data folder. After: one
 * event with the inode that the name stands for, or stood for. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "calls/calls.h"

/* A name that cannot be resolved takes its turn too: another thread may be about to make its folder. */
static enum pc_verdict enter_name(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd,
                                  uint64_t path) {
    struct pc_place *place = &thread->call.to;
    pc_place_resolve(recorder, thread, dirfd, path, place);
    return !place->known || place->inside ? PC_TURN : PC_SKIP;
}

/* mkdir, mknod, unlink, rmdir: the path is the first argument. */
static enum pc_verdict enter_plain(struct pc_recorder *recorder, struct pc_thread *thread) {
    return enter_name(recorder, thread, AT_FDCWD, thread->call.arg[0]);
}

/* mkdirat, mknodat, unlinkat: a folder comes before it. */
static enum pc_verdict enter_at(struct pc_recorder *recorder, struct pc_thread *thread) {
    return enter_name(recorder, thread, (int)thread->call.arg[0], thread->call.arg[1]);
}

static enum pc_verdict enter_symlink(struct pc_recorder *recorder, struct pc_thread *thread) {
    return enter_name(recorder, thread, AT_FDCWD, thread->call.arg[1]);
}

static enum pc_verdict enter_symlinkat(struct pc_recorder *recorder, struct pc_thread *thread) {
    return enter_name(recorder, thread, (int)thread->call.arg[1], thread->call.arg[2]);
}

/* Binding a local socket to a path makes a file. */
static enum pc_verdict enter_bind(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    struct sockaddr_un address = {0};
    size_t length = arg[2] < sizeof(address) ? (size_t)arg[2] : sizeof(address);
    size_t start = offsetof(struct sockaddr_un, sun_path);
    if (length <= start || pc_peek(thread, arg[1], &address, length) != length)
        return PC_SKIP;
    if (address.sun_family != AF_UNIX || address.sun_path[0] == '\0')
        return PC_SKIP;
    char name[sizeof(address.sun_path) + 1] = {0};
    memcpy(name, address.sun_path, length - start);
    pc_place_named(recorder, thread, AT_FDCWD, name, &thread->call.to);
    return thread->call.to.inside ? PC_TURN : PC_SKIP;
}

/* An event about call.to, whose inode and mode are as just looked at. */
static struct pc_event event_at_place(struct pc_recorder *recorder, struct pc_thread *thread,
                                      enum pc_event_kind kind) {
    const struct pc_place *place = &thread->call.to;
    struct pc_event event = pc_event_of(recorder, thread, kind);
    event.path = pc_name(recorder, pc_below_dir(recorder, place->path));
    event.inode = place->status.st_ino;
    event.extra = place->status.st_mode;
    event.offset = pc_owner(&place->status);
    return event;
}

/* Whether the call made a name in the data folder, which is then looked at. */
static bool made(struct pc_recorder *recorder, struct pc_thread *thread, const char *what) {
    struct pc_place *place = &thread->call.to;
    if (thread->call.result < 0 || (place->known && !place->inside))
        return false;
    pc_place_look(place);
    if (!place->known || !place->exists) {
        pc_call_lost(recorder, thread, what);
        return false;
    }
    pc_number_set_add(&recorder->inodes, place->status.st_ino);
    return true;
}

static void leave_mkdir(struct pc_recorder *recorder, struct pc_thread *thread) {
    if (!made(recorder, thread, "mkdir"))
        return;
    struct pc_event event = event_at_place(recorder, thread, PC_MKDIR);
    pc_emit(recorder, &event);
}

static void leave_mknod(struct pc_recorder *recorder, struct pc_thread *thread) {
    if (!made(recorder, thread, "mknod"))
        return;
    bool regular = S_ISREG(thread->call.to.status.st_mode);
    struct pc_event event = event_at_place(recorder, thread, regular ? PC_CREATE : PC_MKNOD);
    pc_emit(recorder, &event);
}

static void leave_symlink(struct pc_recorder *recorder, struct pc_thread *thread) {
    char target[PATH_MAX];
    if (!made(recorder, thread, "symlink"))
        return;
    ssize_t length = readlinkat(thread->call.to.parent, thread->call.to.last, target, sizeof(target));
    struct pc_event event = event_at_place(recorder, thread, PC_SYMLINK);
    event.extra = event.offset = 0;
    event.length = length < 0 ? 0 : (uint64_t)length;
    event.data = pc_writer_blob(recorder->writer, target, event.length);
    pc_emit(recorder, &event);
}

static void leave_remove(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_place *place = &thread->call.to;
    if (thread->call.result < 0 || (place->known && !place->inside))
        return;
    if (!place->exists) {
        pc_call_lost(recorder, thread, "unlink");
        return;
    }
    bool folder = S_ISDIR(place->status.st_mode);
    uint64_t left = folder || place->status.st_nlink == 0 ? 0 : place->status.st_nlink - 1;
    struct pc_event event = event_at_place(recorder, thread, folder ? PC_RMDIR : PC_UNLINK);
    event.extra = left;
    event.offset = 0;
    pc_emit(recorder, &event);
    if (left == 0)
        pc_number_set_drop(&recorder->inodes, place->status.st_ino);
}

const struct pc_call_entry pc_calls_names[] = {
    {SYS_mkdir, {enter_plain, leave_mkdir, false, NULL}},
    {SYS_mkdirat, {enter_at, leave_mkdir, false, NULL}},
    {SYS_mknod, {enter_plain, leave_mknod, false, NULL}},
    {SYS_mknodat, {enter_at, leave_mknod, false, NULL}},
    {SYS_symlink, {enter_symlink, leave_symlink, false, NULL}},
    {SYS_symlinkat, {enter_symlinkat, leave_symlink, false, NULL}},
    {SYS_bind, {enter_bind, leave_mknod, false, NULL}},
    {SYS_unlink, {enter_plain, leave_remove, false, NULL}},
    {SYS_unlinkat, {enter_at, leave_remove, false, NULL}},
    {SYS_rmdir, {enter_plain, leave_remove, false, NULL}},
    {0, {NULL, NULL, false, NULL}},
};
