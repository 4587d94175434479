/* What becomes durable, by whom, and in which transaction. */
#ifndef POWERCUT_GUARD_UPDATES_H
#define POWERCUT_GUARD_UPDATES_H

#include "log.h"

enum { STAGE_NONE, STAGE_WORK, STAGE_ON_COMMIT, STAGE_ON_ABORT }; /* enum pobj_tx_stage */
enum { PC_SPANS_MOST = 256, PC_OLD_MOST = 32 << 10, PC_WAITING_MOST = 64 };

/* A range that the program gave to its transaction, and where. */
struct pc_span {
    uintptr_t low, high;
    const void *site;
    const char *old; /* what it held then, NULL: not known */
};

/* This thread. */
struct pc_self {
    unsigned inside;      /* calls of libpmem that lie in each other: the outermost is logged */
    const void *site;     /* where the program called PMDK, which now does its work */
    uint64_t transaction; /* 0: none */
    unsigned depth;
    bool recovering; /* libpmemobj opens a pool: it completes or takes back what a crash interrupted */
    unsigned span_count;
    struct pc_span spans[PC_SPANS_MOST];
    size_t old_size;
    char old[PC_OLD_MOST];
    unsigned waiting_count;
    struct pc_log_entry waiting[PC_WAITING_MOST]; /* of a transaction, to be logged before its next fence */
};
extern _Thread_local struct pc_self pc_self;

/* The transaction may change a range from now on; `kept`: what it holds is worth to be compared with. */
void pc_span_add(const void *address, size_t size, const void *site, bool kept);
void pc_spans_clear(void);

/* To be logged with others of the transaction; their bytes are still where they are. */
void pc_wait(const struct pc_log_entry *entry);
void pc_log_waiting(void);

/* Bytes at `address` become durable: those at `data`. */
void pc_update(const void *address, const void *data, size_t size, const void *caller);
void pc_fill(const void *address, int byte, size_t size, const void *caller);

#endif
