/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffer of records that the tracer reads (channel.h). */
#ifndef POWERCUT_GRIND_RECORD_BUFFER_H
#define POWERCUT_GRIND_RECORD_BUFFER_H

#include "ranges.h"
#include "requests.h"
#include "threads.h"

#define PC_MOST_AT_ONCE 64u /* records between begin and commit */

struct pc_record_buffer {
    struct pc_memory *next, *end; /* what is left; NULL: not looked at yet */
    ULong used;                   /* bytes committed: page->used */
    Int thread;                   /* of the last record */
};
extern struct pc_record_buffer pc_record_buffer;

struct pc_memory *pc_begin_slowly(Int file, UInt count);

/* Where the next `count` records of the running thread go, which are about a file (-1: none). */
static inline struct pc_memory *pc_begin(Int file, UInt count) {
    Bool goes_on = __atomic_load_n(&pc_page->closed, __ATOMIC_ACQUIRE) != pc_record_buffer.used &&
                   pc_record_buffer.thread == pc_thread_id && (file < 0 || pc_files[file].announced);
    if (goes_on && pc_record_buffer.end - pc_record_buffer.next >= (Long)count)
        return pc_record_buffer.next;
    return pc_begin_slowly(file, count);
}

/* Those records are whole. */
static inline void pc_commit(UInt count) {
    pc_record_buffer.next += count;
    pc_record_buffer.used += count * sizeof(*pc_record_buffer.next);
    /* The processor keeps the order of stores, the compiler must, too. */
    __atomic_store_n(&pc_page->used, pc_record_buffer.used, __ATOMIC_RELEASE);
}

/* In a forked child: nothing of what the parent wrote is in this process's records. */
void pc_record_buffer_forked(void);

#endif
