/* Which decoder a call goes to, and what the decoders share.
 *
 * Before pc_call_enter: a thread at the entry of a call, its registers read. After pc_call_drop: no
 * descriptor of the call is held, and the thread is in no call. */
#define _GNU_SOURCE
#include "calls/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NUMBERS = 512 };

static const struct pc_call_kind *kinds[NUMBERS];

static void add_table(const struct pc_call_entry *table) {
    for (; table->kind.enter != NULL; table++)
        kinds[table->number] = &table->kind;
}

static const struct pc_call_kind *kind_of(uint64_t number) {
    static bool ready;
    if (!ready) {
        add_table(pc_calls_data);
        add_table(pc_calls_open);
        add_table(pc_calls_names);
        add_table(pc_calls_links);
        add_table(pc_calls_attributes);
        add_table(pc_calls_sync);
        add_table(pc_calls_mappings);
        add_table(pc_calls_standard_output);
        ready = true;
    }
    return number < NUMBERS ? kinds[number] : NULL;
}

enum pc_verdict pc_call_enter(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    const struct user_regs_struct *regs = &thread->regs;
    call->kind = kind_of(regs->orig_rax);
    if (call->kind == NULL)
        return PC_SKIP;
    call->number = (int)regs->orig_rax;
    call->arg[0] = regs->rdi;
    call->arg[1] = regs->rsi;
    call->arg[2] = regs->rdx;
    call->arg[3] = regs->r10;
    call->arg[4] = regs->r8;
    call->arg[5] = regs->r9;
    call->result = 0;
    call->channel = 0;
    call->flags = 0;
    call->existed = false;
    call->has_stack = false;
    return call->kind->enter(recorder, thread);
}

void pc_call_leave(struct pc_recorder *recorder, struct pc_thread *thread, int64_t result) {
    thread->call.result = result;
    if (thread->call.kind != NULL)
        thread->call.kind->leave(recorder, thread);
}

void pc_call_drop(struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    if (call->fd >= 0)
        close(call->fd);
    if (call->source >= 0)
        close(call->source);
    call->fd = call->source = -1;
    if (call->from.parent >= 0)
        pc_place_close(&call->from);
    if (call->to.parent >= 0)
        pc_place_close(&call->to);
    call->kind = NULL;
}

/* PC_CHANNEL_STDOUT or STDERR if this is what the program's descriptor 1 or 2 was at the start, else 0. */
static uint32_t standard_channel(const struct pc_recorder *recorder, int fd, const struct stat *status) {
    bool match[3] = {false, false, false};
    for (int i = 1; i <= 2; i++) {
        const struct stat *out = &recorder->out[i];
        match[i] = out->st_nlink > 0 && out->st_ino == status->st_ino && out->st_dev == status->st_dev;
    }
    if (match[1] && match[2])
        return fd == 2 ? PC_CHANNEL_STDERR : PC_CHANNEL_STDOUT;
    return match[1] ? PC_CHANNEL_STDOUT : match[2] ? PC_CHANNEL_STDERR : 0;
}

/* Sockets that only talk to the kernel say nothing to anybody. */
static bool is_kernel_socket(int fd) {
    int domain = 0;
    socklen_t size = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           (domain == AF_NETLINK || domain == AF_ALG || domain == AF_PACKET);
}

enum pc_target pc_call_target(struct pc_recorder *recorder, struct pc_thread *thread, int fd) {
    struct pc_call *call = &thread->call;
    if (call->fd >= 0)
        close(call->fd);
    call->fd = pc_dup_remote(thread, fd);
    if (call->fd < 0) {
        if (fd >= 0 && errno != EBADF && errno != ESRCH)
            pc_note(recorder, NULL,
                    "cannot read the open files of process %d (%s); changes through them are ignored",
                    thread->tgid, strerror(errno));
        return PC_TARGET_NONE;
    }
    if (fstat(call->fd, &call->status) != 0)
        return PC_TARGET_NONE;
    call->channel = standard_channel(recorder, fd, &call->status);
    if (call->channel != 0)
        return PC_TARGET_OUTPUT;
    if (S_ISSOCK(call->status.st_mode) && !is_kernel_socket(call->fd)) {
        call->channel = PC_CHANNEL_SOCKET;
        return PC_TARGET_OUTPUT;
    }
    if (!S_ISREG(call->status.st_mode) && !S_ISDIR(call->status.st_mode))
        return PC_TARGET_NONE;
    if (!pc_fd_inside(recorder, call->fd, &call->status))
        return PC_TARGET_NONE;
    call->open_flags = fcntl(call->fd, F_GETFL);
    return PC_TARGET_FILE;
}

enum pc_verdict pc_call_path(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t path,
                             enum pc_follow follow, int at_flags) {
    struct pc_call *call = &thread->call;
    if (call->fd >= 0)
        close(call->fd);
    call->fd = pc_open_remote(thread, dirfd, path, follow, at_flags);
    if (call->fd < 0)
        return PC_TURN;
    if (fstat(call->fd, &call->status) != 0)
        return PC_SKIP;
    return pc_fd_inside(recorder, call->fd, &call->status) ? PC_TURN : PC_SKIP;
}

void pc_call_lost(struct pc_recorder *recorder, struct pc_thread *thread, const char *what) {
    pc_note(recorder, thread, "could not record a call of %s; the recording may lack a change", what);
}
