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

/* What a record tells, without what the log itself adds. */
struct pc_log_entry {
    enum pc_guard_kind kind;
    unsigned pool, flags;
    uint64_t offset, site, transaction;
    const void *data; /* may be NULL: then none is written, and size only told */
    size_t size;
};

/* Takes the log over, behind what stands in it; false: it cannot be, and why was said. */
bool pc_log_open(const char *folder, uint64_t segment, uint64_t first_sequence);
/* The log goes on without this process: after fork. */
void pc_log_leave(void);
bool pc_log_is_open(void);

/* A record that is written with what the thread writes next, or at its end. Its bytes are taken now. */
void pc_log_note(const struct pc_log_entry *entry);
/* One that must be written before the thread's next fence. */
void pc_log_stage(const struct pc_log_entry *entry);
extern _Thread_local bool pc_log_due; /* this thread has staged one */
void pc_log_write_staged(void);
static inline void pc_log_write(void) {
    if (pc_log_due)
        pc_log_write_staged();
}
/* After the fence: the segment does not have to wait for this thread any more. Earlier it would cost a fence
 * more. */
extern _Thread_local bool pc_log_owes;
void pc_log_pay(void);
static inline void pc_log_settle(void) {
    if (pc_log_owes)
        pc_log_pay();
}
static inline void pc_log_put(const struct pc_log_entry *entry) {
    pc_log_note(entry);
    pc_log_write_staged();
    pc_log_settle();
}

extern _Thread_local bool pc_log_has_fenced;
/* The thread waits until all that it asked for is durable: its next record says so. */
static inline void pc_log_fenced(void) {
    pc_log_has_fenced = true;
}
/* Waits until all that this thread has put is durable, on whatever the log lies: later records mean nothing
 * without it. */
void pc_log_sync(void);
/* A number that no transaction has: smaller than those of all records that are written from now on. */
uint64_t pc_log_number(void);

#endif
