/* Writing the log (log_format.h).
 *
 * Before: pc_log_open was successful. Records are staged: made in memory of the thread, and written together
 * before its next fence. After pc_log_write: they stand in the log; they are durable after the thread's next
 * fence. Any number of threads may write at once. */
#ifndef POWERCUT_GUARD_LOG_H
#define POWERCUT_GUARD_LOG_H

#include "log_format.h"

#include <stdbool.h>
#include <stddef.h>

/* Kind, flags and pool of a record, as they stand in the word of a member of a group. */
enum { PC_WHAT_KIND = 32, PC_WHAT_FLAGS = 40, PC_WHAT_POOL = 44, PC_WHAT_HAS = 48 };

/* What a record tells, without what the log itself adds. */
struct pc_log_entry {
    enum pc_guard_kind kind;
    unsigned pool, flags;
    uint64_t offset, site, transaction;
    const void *data; /* may be NULL: then none is written, and size only told */
    size_t size;
};

/* This thread: looked at in each call of libpmem. */
extern _Thread_local struct pc_log {
    bool due;  /* what is staged must be written before its next fence */
    bool owes; /* the segment waits for it */
    bool has_fenced;
} pc_log;

/* Takes the log over, behind what stands in it; false: it cannot be, and why was said. */
bool pc_log_open(const char *folder, uint64_t segment, uint64_t first_sequence);
/* The log goes on without this process: after fork. */
void pc_log_leave(void);
bool pc_log_is_open(void);

/* A record that is written with what the thread writes next, or at its end. Its bytes are taken now. It is
 * told in registers: what is stored word by word is not at hand when it is loaded in larger pieces. */
void pc_log_tell(uint64_t what, uint64_t offset, uint64_t site, uint64_t transaction, const void *data,
                 size_t size);
static inline void pc_log_note(const struct pc_log_entry *entry) {
    uint64_t what = (uint64_t)entry->kind << PC_WHAT_KIND | (uint64_t)(entry->flags & 15) << PC_WHAT_FLAGS |
                    (uint64_t)(entry->pool & 15) << PC_WHAT_POOL;
    pc_log_tell(what, entry->offset, entry->site, entry->transaction, entry->data, entry->size);
}
void pc_log_write_staged(void);
/* What it has staged must be written before its next fence. */
static inline void pc_log_is_due(void) {
    pc_log.due = true;
}
static inline void pc_log_write(void) {
    if (pc_log.due)
        pc_log_write_staged();
}
/* After the fence: the segment does not have to wait for this thread any more. Earlier it would cost a fence
 * more. */
void pc_log_pay(void);
static inline void pc_log_settle(void) {
    if (pc_log.owes)
        pc_log_pay();
}
static inline void pc_log_put(const struct pc_log_entry *entry) {
    pc_log_note(entry);
    pc_log_write_staged();
    pc_log_settle();
}

/* The thread waits until all that it asked for is durable: its next record says so. */
static inline void pc_log_fenced(void) {
    pc_log.has_fenced = true;
}
/* Waits until all that this thread has put is durable, on whatever the log lies: later records mean nothing
 * without it. */
void pc_log_sync(void);
/* A number for a transaction of this thread that no other has of which a record tells; 0: there is no log. */
uint64_t pc_log_number(void);
/* It is complete: noted, if a record tells of it. */
void pc_log_complete(uint64_t transaction);

#endif
