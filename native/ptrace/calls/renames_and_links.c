/* Calls with two names: rename and link, within the data folder and across its border.
 *
 * Before `leave`: call.from and call.to are both names as they were when no other call could change the data
 * folder. After: one event for what happened inside. What comes in from outside is recorded with its
 * content (PC_FLAG_IMPORT), what leaves is gone (PC_FLAG_EXPORT). What the tracer carried in (border.c) is a
 * file that had no name yet and gets it in one step; its content is durable only if it was synced outside. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/border.h"

static enum pc_verdict verdict_of_pair(const struct pc_call *call) {
    bool from_known = call->from.known || call->from.unnamed;
    if (!from_known || !call->to.known)
        return PC_TURN;
    return call->from.inside || call->to.inside ? PC_TURN : PC_SKIP;
}

static enum pc_verdict enter_rename_at(struct pc_recorder *recorder, struct pc_thread *thread, int from_dir,
                                       uint64_t from, int to_dir, uint64_t to) {
    pc_place_resolve(recorder, thread, from_dir, from, &thread->call.from);
    pc_place_resolve(recorder, thread, to_dir, to, &thread->call.to);
    return verdict_of_pair(&thread->call);
}

static enum pc_verdict enter_rename(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    return enter_rename_at(recorder, thread, AT_FDCWD, arg[0], AT_FDCWD, arg[1]);
}

static enum pc_verdict enter_renameat(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    if (thread->call.number == SYS_renameat2)
        thread->call.flags = (unsigned)arg[4];
    return enter_rename_at(recorder, thread, (int)arg[0], arg[1], (int)arg[2], arg[3]);
}

/* The source of a link given by descriptor, or through a symbolic link: the file itself counts, and its name
 * only where it has one. */
static void resolve_followed(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t path,
                             int at_flags) {
    struct pc_call *call = &thread->call;
    struct pc_place *from = &call->from;
    pc_place_close(from);
    call->source = pc_open_remote(thread, dirfd, path, PC_FOLLOW, at_flags);
    if (call->source < 0 || fstat(call->source, &from->status) != 0)
        return;
    from->exists = true;
    from->inside = pc_fd_inside(recorder, call->source, &from->status);
    from->known = pc_fd_path(call->source, from->path, sizeof(from->path));
    const char *name = from->known ? pc_below_dir(recorder, from->path) : NULL;
    from->unnamed = name == NULL || from->status.st_nlink == 0;
}

static enum pc_verdict enter_link_at(struct pc_recorder *recorder, struct pc_thread *thread, int from_dir,
                                     uint64_t from, int to_dir, uint64_t to, int at_flags) {
    if ((at_flags & (AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0)
        resolve_followed(recorder, thread, from_dir, from, at_flags);
    else
        pc_place_resolve(recorder, thread, from_dir, from, &thread->call.from);
    pc_place_resolve(recorder, thread, to_dir, to, &thread->call.to);
    return verdict_of_pair(&thread->call);
}

static enum pc_verdict enter_link(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    return enter_link_at(recorder, thread, AT_FDCWD, arg[0], AT_FDCWD, arg[1], 0);
}

static enum pc_verdict enter_linkat(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    return enter_link_at(recorder, thread, (int)arg[0], arg[1], (int)arg[2], arg[3], (int)arg[4]);
}

/* Whether the call succeeded and both names are understood; says so where they are not. */
static bool done(struct pc_recorder *recorder, struct pc_thread *thread, const char *what) {
    const struct pc_call *call = &thread->call;
    if (call->result == -EXDEV && call->from.inside != call->to.inside && call->to.known)
        pc_note(recorder, thread,
                "%s from %s to %s failed with EXDEV because the data folder is a separate mount while "
                "recorded: choose --dir so that it contains both",
                what, call->from.path, call->to.path);
    if (call->result == -EXDEV && recorder->layered && call->from.inside && call->to.inside)
        recorder->stuck = true;
    if (call->result < 0)
        return false;
    if (!call->from.exists || !call->to.known) {
        pc_call_lost(recorder, thread, what);
        return false;
    }
    return call->from.inside || call->to.inside;
}

static uint32_t name_of(struct pc_recorder *recorder, const struct pc_place *place) {
    return pc_name(recorder, pc_below_dir(recorder, place->path));
}

/* Whole content of a file that came in, as one write; the flag says that it is durable. */
static void emit_imported_data(struct pc_recorder *recorder, struct pc_thread *thread, bool durable) {
    const struct pc_place *to = &thread->call.to;
    struct pc_event event = pc_event_of(recorder, thread, PC_WRITE);
    event.flags = durable ? PC_FLAG_IMPORT : 0;
    event.inode = to->status.st_ino;
    event.length = (uint64_t)to->status.st_size;
    int file = openat(to->parent, to->last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unsigned char *room = pc_writer_blob_begin(recorder->writer, event.length, &event.data);
    uint64_t got = 0;
    ssize_t piece = 0;
    while (room != NULL && got < event.length &&
           (piece = pread(file, room + got, event.length - got, (off_t)got)) > 0)
        got += (uint64_t)piece;
    if (room != NULL) {
        memset(room + got, 0, event.length - got);
        pc_writer_blob_commit(recorder->writer, event.length);
        pc_emit(recorder, &event);
    }
    if (got < event.length)
        pc_note(recorder, thread, "could not read %s, which came from outside the data folder", to->path);
    if (file >= 0)
        close(file);
}

static void emit_import(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_place *to = &thread->call.to;
    if (to->exists) {
        struct pc_event replaced = pc_event_of(recorder, thread, PC_UNLINK);
        replaced.path = name_of(recorder, to);
        replaced.inode = to->status.st_ino;
        replaced.extra = to->status.st_nlink - 1;
        pc_emit(recorder, &replaced);
        if (replaced.extra == 0)
            pc_number_set_drop(&recorder->inodes, replaced.inode);
    }
    pc_place_look(to);
    if (!to->exists || !S_ISREG(to->status.st_mode)) {
        pc_note(recorder, thread,
                "%s was moved in from outside the data folder and is not a regular file; it is ignored",
                to->path);
        return;
    }
    struct pc_event event = pc_event_of(recorder, thread, PC_CREATE);
    event.flags = PC_FLAG_IMPORT;
    event.path = name_of(recorder, to);
    event.inode = to->status.st_ino;
    event.extra = to->status.st_mode;
    event.offset = pc_owner(&to->status);
    pc_emit(recorder, &event);
    pc_number_set_add(&recorder->inodes, to->status.st_ino);
    if (to->status.st_size > 0)
        emit_imported_data(recorder, thread, true);
}

/* The same for what the tracer carried in. */
static void emit_carried(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_place *to = &thread->call.to;
    if (to->exists && to->status.st_nlink <= 1)
        pc_number_set_drop(&recorder->inodes, to->status.st_ino); /* replaced */
    pc_place_look(to);
    struct pc_event event = pc_event_of(recorder, thread, PC_CREATE);
    event.flags = PC_FLAG_IMPORT | PC_FLAG_TMPFILE;
    event.inode = to->status.st_ino;
    event.extra = to->status.st_mode;
    pc_emit(recorder, &event);
    pc_number_set_add(&recorder->inodes, to->status.st_ino);
    if (to->status.st_size > 0)
        emit_imported_data(recorder, thread, pc_border_is_synced(recorder, &thread->call.from.status));
    struct pc_event named = pc_event_of(recorder, thread, PC_LINK);
    named.path2 = name_of(recorder, to);
    named.inode = to->status.st_ino;
    pc_emit(recorder, &named);
}

static void emit_export(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_place *from = &thread->call.from;
    if (S_ISDIR(from->status.st_mode)) {
        pc_note(recorder, thread, "the folder %s was moved out of the data folder; the move is ignored",
                from->path);
        return;
    }
    struct pc_event event = pc_event_of(recorder, thread, PC_UNLINK);
    event.flags = PC_FLAG_EXPORT;
    event.path = name_of(recorder, from);
    event.inode = from->status.st_ino;
    event.extra = from->status.st_nlink - 1;
    pc_emit(recorder, &event);
    if (event.extra == 0)
        pc_number_set_drop(&recorder->inodes, from->status.st_ino);
}

static void emit_rename(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_place *from = &thread->call.from, *to = &thread->call.to;
    bool exchange = (thread->call.flags & RENAME_EXCHANGE) != 0;
    if (to->exists && to->status.st_ino == from->status.st_ino)
        return; /* two names of one file: rename does nothing */
    struct pc_event event = pc_event_of(recorder, thread, PC_RENAME);
    event.flags = exchange ? PC_FLAG_EXCHANGE : 0;
    event.path = name_of(recorder, from);
    event.path2 = name_of(recorder, to);
    event.inode = from->status.st_ino;
    event.extra = to->exists ? to->status.st_ino : 0;
    pc_emit(recorder, &event);
    if (to->exists && !exchange && (S_ISDIR(to->status.st_mode) || to->status.st_nlink <= 1))
        pc_number_set_drop(&recorder->inodes, to->status.st_ino);
}

static void leave_rename(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    bool carried = pc_border_carry(recorder, thread, false);
    if (!done(recorder, thread, "rename"))
        return;
    bool crosses = call->from.inside != call->to.inside;
    if (crosses && (call->flags & RENAME_EXCHANGE) != 0)
        pc_note(recorder, thread,
                "%s and %s were exchanged across the border of the data folder; the exchange is ignored",
                call->from.path, call->to.path);
    else if (!crosses)
        emit_rename(recorder, thread);
    else if (call->to.inside && carried)
        emit_carried(recorder, thread);
    else if (call->to.inside)
        emit_import(recorder, thread);
    else
        emit_export(recorder, thread);
    if ((call->flags & RENAME_WHITEOUT) != 0)
        pc_note(recorder, thread, "RENAME_WHITEOUT is not supported; the device it leaves at %s is missing",
                call->from.path);
}

static void leave_link(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    bool carried = pc_border_carry(recorder, thread, true);
    if (!done(recorder, thread, "link") || !call->to.inside)
        return;
    if (!call->from.inside) {
        carried ? emit_carried(recorder, thread) : emit_import(recorder, thread);
        return;
    }
    struct pc_event event = pc_event_of(recorder, thread, PC_LINK);
    event.path = call->from.unnamed ? 0 : name_of(recorder, &call->from);
    event.path2 = name_of(recorder, &call->to);
    event.inode = call->from.status.st_ino;
    pc_emit(recorder, &event);
    pc_number_set_add(&recorder->inodes, event.inode);
}

const struct pc_call_entry pc_calls_links[] = {
    {SYS_rename, {enter_rename, leave_rename, false, NULL}},
    {SYS_renameat, {enter_renameat, leave_rename, false, NULL}},
    {SYS_renameat2, {enter_renameat, leave_rename, false, NULL}},
    {SYS_link, {enter_link, leave_link, false, NULL}},
    {SYS_linkat, {enter_linkat, leave_link, false, NULL}},
    {0, {NULL, NULL, false, NULL}},
};
