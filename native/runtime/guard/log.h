/* Writing the log (log_format.h).
 *
 * Before: pc_log_open was successful. After pc_log_put: the record stands in the log; it is durable after the
 * thread's next fence. Any number of threads may put records at once; none waits for another, but for the few
 * that meet the end of a segment. */
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
void pc_log_put(const struct pc_log_entry *entry);
/* Several at once, with numbers that follow each other: cheaper than one by one. */
void pc_log_put_all(const struct pc_log_entry *entries, unsigned count);
/* The thread has waited until all that it asked for was durable: its next record says so. */
void pc_log_fenced(void);
/* Waits until all that this thread has put is durable, on whatever the log lies: later records mean nothing
 * without it. */
void pc_log_sync(void);
/* A number not used by any record: for transactions. */
uint64_t pc_log_number(void);

#endif
