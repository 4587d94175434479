/* Calls that move bytes into files of the data folder, or to the outside: the write, send and copy families.
 *
 * Before `leave`: the call has returned and its thread is stopped. After: one PC_WRITE, or PC_OUTPUT, with
 * what the call really moved. Bytes from memory are read from the caller's buffer straight into the trace;
 * bytes that the kernel copied from another file are read back from where they went. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls/calls.h"

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20
#endif

/* Cloning is cheap at any size, recording what was cloned is not. */
static const uint64_t CLONE_LIMIT = 4ull << 30;

static enum pc_verdict verdict_for(enum pc_target target, const struct pc_call *call) {
    if (target == PC_TARGET_OUTPUT)
        return PC_WATCH;
    return target == PC_TARGET_FILE && S_ISREG(call->status.st_mode) ? PC_TURN : PC_SKIP;
}

static enum pc_verdict enter_write(struct pc_recorder *recorder, struct pc_thread *thread) {
    if (thread->call.number == SYS_pwritev2)
        thread->call.flags = thread->call.arg[5];
    return verdict_for(pc_call_target(recorder, thread, (int)thread->call.arg[0]), &thread->call);
}

/* Reads what the file behind `fd`, however that was opened, holds at `offset`. */
static size_t read_back(int fd, uint64_t offset, unsigned char *room, size_t length) {
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    int file = open(link, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    size_t got = 0;
    while (got < length) {
        ssize_t piece = pread(file, room + got, length - got, (off_t)(offset + got));
        if (piece <= 0)
            break;
        got += (size_t)piece;
    }
    close(file);
    return got;
}

/* The bytes that the call took from the thread's memory; how many of `length` could be read. */
static size_t read_memory(const struct pc_thread *thread, void *room, size_t length) {
    const struct pc_call *call = &thread->call;
    struct msghdr message;
    switch (call->number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_sendto:
        return pc_peek(thread, call->arg[1], room, length);
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_vmsplice:
        return pc_peek_vector(thread, call->arg[1], call->arg[2], room, length);
    case SYS_sendmsg:
        if (pc_peek(thread, call->arg[1], &message, sizeof(message)) != sizeof(message))
            return 0;
        return pc_peek_vector(thread, (uint64_t)message.msg_iov, message.msg_iovlen, room, length);
    default:
        return 0;
    }
}

/* Where the call's `result` bytes were put, as far as the call used its descriptor's position. */
static uint64_t position_before(int fd, int64_t result) {
    return (uint64_t)(lseek(fd, 0, SEEK_CUR) - result);
}

/* The offset behind a pointer that the kernel has moved on by `result`, or the descriptor's position. */
static uint64_t offset_before(const struct pc_thread *thread, uint64_t pointer, int fd, int64_t result) {
    int64_t offset;
    if (pointer == 0 || pc_peek(thread, pointer, &offset, sizeof(offset)) != sizeof(offset))
        return position_before(fd, result);
    return (uint64_t)(offset - result);
}

static bool appends(const struct pc_call *call) {
    if ((call->flags & RWF_APPEND) != 0)
        return true;
    return (call->open_flags & O_APPEND) != 0 && (call->flags & RWF_NOAPPEND) == 0;
}

/* Where in the file a write of the write family went. pwrite appends too, if the file was opened so. */
static uint64_t write_offset(const struct pc_call *call) {
    bool own_offset = call->number == SYS_pwrite64 || call->number == SYS_pwritev ||
                      (call->number == SYS_pwritev2 && (int64_t)call->arg[3] != -1);
    if (!own_offset)
        return position_before(call->fd, call->result);
    if (!appends(call))
        return call->arg[3];
    struct stat now;
    return fstat(call->fd, &now) == 0 ? (uint64_t)(now.st_size - call->result) : call->arg[3];
}

static uint16_t write_flags(const struct pc_call *call) {
    unsigned flags = 0;
    if ((call->open_flags & O_SYNC) == O_SYNC || (call->flags & RWF_SYNC) != 0)
        flags |= PC_FLAG_SYNC;
    else if ((call->open_flags & O_DSYNC) != 0 || (call->flags & RWF_DSYNC) != 0)
        flags |= PC_FLAG_DSYNC;
    if ((call->open_flags & O_DIRECT) != 0)
        flags |= PC_FLAG_DIRECT;
    if (appends(call))
        flags |= PC_FLAG_APPEND;
    return (uint16_t)flags;
}

struct pc_event pc_write_event(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    struct pc_event event = pc_event_of(recorder, thread, PC_WRITE);
    event.flags = write_flags(call);
    event.inode = call->status.st_ino;
    event.offset = write_offset(call);
    event.length = (uint64_t)call->result;
    return event;
}

/* Writes PC_WRITE for `length` bytes at `offset` of call.fd: as many of them as come from the thread's memory
 * are read there, the rest from the file itself. */
static void emit_write(struct pc_recorder *recorder, struct pc_thread *thread, uint64_t offset,
                       uint64_t length) {
    const struct pc_call *call = &thread->call;
    struct pc_event event = pc_write_event(recorder, thread);
    event.offset = offset;
    event.length = length;
    unsigned char *room = pc_writer_blob_begin(recorder->writer, length, &event.data);
    if (room == NULL)
        return;
    size_t got = read_memory(thread, room, length);
    if (got < length)
        got += read_back(call->fd, offset + got, room + got, length - got);
    memset(room + got, 0, length - got);
    pc_writer_blob_commit(recorder->writer, length);
    pc_emit(recorder, &event);
    if (got < length)
        pc_note(recorder, thread,
                "could not read bytes written to a file of the data folder; treated as zeros");
}

static struct pc_event output_event(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_event event = pc_event_of(recorder, thread, PC_OUTPUT);
    event.extra = thread->call.channel;
    return event;
}

static void emit_output(struct pc_recorder *recorder, struct pc_thread *thread, uint64_t length) {
    struct pc_event event = output_event(recorder, thread);
    unsigned char *room = pc_writer_blob_begin(recorder->writer, length, &event.data);
    if (room == NULL)
        return;
    event.length = read_memory(thread, room, length);
    pc_writer_blob_commit(recorder->writer, event.length);
    pc_emit(recorder, &event);
}

static void leave_write(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    if (call->result <= 0)
        return;
    if (call->channel != 0)
        emit_output(recorder, thread, (uint64_t)call->result);
    else
        emit_write(recorder, thread, write_offset(call), (uint64_t)call->result);
}

static enum pc_verdict enter_send(struct pc_recorder *recorder, struct pc_thread *thread) {
    enum pc_target target = pc_call_target(recorder, thread, (int)thread->call.arg[0]);
    return target == PC_TARGET_OUTPUT ? PC_WATCH : PC_SKIP;
}

static void leave_sendmmsg(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct mmsghdr message;
    for (int64_t i = 0; i < thread->call.result; i++) {
        if (pc_peek(thread, thread->call.arg[1] + (uint64_t)i * sizeof(message), &message, sizeof(message)) !=
            sizeof(message))
            return;
        struct pc_event event = output_event(recorder, thread);
        unsigned char *room = pc_writer_blob_begin(recorder->writer, message.msg_len, &event.data);
        if (room == NULL)
            return;
        event.length = pc_peek_vector(thread, (uint64_t)message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen,
                                      room, message.msg_len);
        pc_writer_blob_commit(recorder->writer, event.length);
        pc_emit(recorder, &event);
    }
}

/* sendfile, splice, copy_file_range and cloning: which arguments are source and target. */
static int target_argument(const struct pc_call *call) {
    return (int)(call->number == SYS_splice || call->number == SYS_copy_file_range ? call->arg[2]
                                                                                   : call->arg[0]);
}

/* The file that a copy to the outside takes its bytes from, if it can be read again. */
static int open_source(struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    struct stat status;
    int fd = pc_dup_remote(thread, (int)call->arg[call->number == SYS_sendfile ? 1 : 0]);
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
        return fd;
    close(fd);
    return -1;
}

static enum pc_verdict enter_copy(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    enum pc_verdict verdict = verdict_for(pc_call_target(recorder, thread, target_argument(call)), call);
    if (verdict == PC_WATCH)
        call->source = open_source(thread);
    return verdict;
}

/* What was sent to the outside is still in its source; only what splice took from a pipe is gone. */
static void emit_copied_output(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    struct pc_event event = output_event(recorder, thread);
    if (call->source >= 0) {
        uint64_t pointer = call->arg[call->number == SYS_sendfile ? 2 : 1];
        uint64_t offset = offset_before(thread, pointer, call->source, call->result);
        unsigned char *room = pc_writer_blob_begin(recorder->writer, (uint64_t)call->result, &event.data);
        if (room == NULL)
            return;
        event.length = read_back(call->source, offset, room, (size_t)call->result);
        pc_writer_blob_commit(recorder->writer, event.length);
    } else {
        pc_note(recorder, thread, "bytes were spliced from a pipe to an output; their content is unknown");
    }
    pc_emit(recorder, &event);
}

static void leave_copy(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    if (call->result <= 0)
        return;
    if (call->channel != 0) {
        emit_copied_output(recorder, thread);
        return;
    }
    uint64_t pointer = call->number == SYS_sendfile ? 0 : call->arg[3];
    uint64_t offset = offset_before(thread, pointer, call->fd, call->result);
    emit_write(recorder, thread, offset, (uint64_t)call->result);
}

/* FICLONE and FICLONERANGE: copies for which the length has to be worked out. */
static enum pc_verdict enter_clone(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    enum pc_target target = pc_call_target(recorder, thread, (int)call->arg[0]);
    return target == PC_TARGET_FILE && S_ISREG(call->status.st_mode) ? PC_TURN : PC_SKIP;
}

static void leave_clone(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    struct file_clone_range range = {.src_fd = (int)call->arg[2]};
    struct stat source;
    if (call->result != 0)
        return;
    if ((uint32_t)call->arg[1] == FICLONERANGE)
        (void)pc_peek(thread, call->arg[2], &range, sizeof(range));
    call->source = pc_dup_remote(thread, (int)range.src_fd);
    if (call->source < 0 || fstat(call->source, &source) != 0) {
        pc_call_lost(recorder, thread, "ioctl(FICLONE)");
        return;
    }
    uint64_t length = range.src_length;
    if (length == 0 && (uint64_t)source.st_size > range.src_offset)
        length = (uint64_t)source.st_size - range.src_offset;
    if (length > CLONE_LIMIT)
        pc_call_lost(recorder, thread, "ioctl(FICLONE) on a very large file");
    else if (length > 0)
        emit_write(recorder, thread, range.dest_offset, length);
}

const struct pc_call_entry pc_calls_data[] = {
    {SYS_write, {enter_write, leave_write, false, pc_emulate_write}},
    {SYS_pwrite64, {enter_write, leave_write, false, pc_emulate_write}},
    {SYS_writev, {enter_write, leave_write, false, NULL}},
    {SYS_pwritev, {enter_write, leave_write, false, NULL}},
    {SYS_pwritev2, {enter_write, leave_write, false, NULL}},
    {SYS_vmsplice, {enter_send, leave_write, false, NULL}},
    {SYS_sendto, {enter_send, leave_write, false, NULL}},
    {SYS_sendmsg, {enter_send, leave_write, false, NULL}},
    {SYS_sendmmsg, {enter_send, leave_sendmmsg, false, NULL}},
    {SYS_sendfile, {enter_copy, leave_copy, false, NULL}},
    {SYS_splice, {enter_copy, leave_copy, false, NULL}},
    {SYS_copy_file_range, {enter_copy, leave_copy, false, NULL}},
    {SYS_ioctl, {enter_clone, leave_clone, false, NULL}},
    {0, {NULL, NULL, false, NULL}},
};
