/* From system calls to events. Each call that the filter stops at has an `enter` that decides whether the
 * call concerns the recording and a `leave` that writes what it did.
 *
 * Life of a call: pc_call_enter at the entry stop; if it is to be followed, pc_call_leave at the exit stop
 * with the result; pc_call_drop in any case. pc_call_enter leaves no trace behind, so it may be dropped and
 * asked again later, when the call's turn has come. */
#ifndef POWERCUT_CALLS_CALLS_H
#define POWERCUT_CALLS_CALLS_H

#include "remote/remote.h"
#include "thread.h"
#include "trace/recorder.h"

enum pc_verdict {
    PC_SKIP,    /* of no concern: let it run */
    PC_WATCH,   /* follow it to its exit; it may run beside others */
    PC_TURN,    /* follow it to its exit; it changes the data folder, so one at a time */
    PC_AT_ONCE, /* `leave` is to be asked now, before the call; no exit stop is needed */
    PC_REFUSE,  /* make it fail with ENOSYS; `leave` is to be asked now, to say so */
};

struct pc_call_kind {
    enum pc_verdict (*enter)(struct pc_recorder *recorder, struct pc_thread *thread);
    void (*leave)(struct pc_recorder *recorder, struct pc_thread *thread);
    bool slow; /* may rightly take long: syncs */
    /* If not NULL: does a call that has its turn in the thread's place, records it and leaves the result in
     * call.result; false if the thread must do it itself. Saves the exit stop. */
    bool (*emulate)(struct pc_recorder *recorder, struct pc_thread *thread);
};

/* Needs thread->regs. */
enum pc_verdict pc_call_enter(struct pc_recorder *recorder, struct pc_thread *thread);
/* Calls that failed (negative result) leave no event, except where the user should know. */
void pc_call_leave(struct pc_recorder *recorder, struct pc_thread *thread, int64_t result);
void pc_call_drop(struct pc_thread *thread);

/* For the decoders: what the descriptor in a call's argument is. */
enum pc_target {
    PC_TARGET_NONE,   /* nothing to follow */
    PC_TARGET_FILE,   /* a file or folder in the data folder */
    PC_TARGET_OUTPUT, /* the program's stdout or stderr, or a socket: call.channel */
};

/* Duplicates descriptor `fd` into call.fd and fills in status and open_flags. */
enum pc_target pc_call_target(struct pc_recorder *recorder, struct pc_thread *thread, int fd);

/* The same for a path, which is opened O_PATH into call.fd. A path that cannot be opened gives PC_TURN and
 * call.fd -1: the call should fail, but if another thread makes the file first, it must not be lost. */
enum pc_verdict pc_call_path(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t path,
                             enum pc_follow follow, int at_flags);

/* Says that a call succeeded which could not be decoded. */
void pc_call_lost(struct pc_recorder *recorder, struct pc_thread *thread, const char *what);

/* For the decoders of writes: a PC_WRITE of call.result bytes, complete but for its data. */
struct pc_event pc_write_event(struct pc_recorder *recorder, struct pc_thread *thread);
/* write and pwrite64, for `emulate`: see calls/emulated_writes.c. */
bool pc_emulate_write(struct pc_recorder *recorder, struct pc_thread *thread);

/* The tables of the files in this folder; each ends with an entry whose `enter` is NULL. */
struct pc_call_entry {
    int number;
    struct pc_call_kind kind;
};
extern const struct pc_call_entry pc_calls_data[], pc_calls_open[], pc_calls_names[], pc_calls_links[],
    pc_calls_attributes[], pc_calls_sync[], pc_calls_mappings[], pc_calls_standard_output[];

#endif
