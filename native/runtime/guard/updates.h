/* What becomes durable, by whom, and in which transaction. */
#ifndef POWERCUT_GUARD_UPDATES_H
#define POWERCUT_GUARD_UPDATES_H

#include "log.h"
#include "pools.h"

enum { STAGE_NONE, STAGE_WORK, STAGE_ON_COMMIT, STAGE_ON_ABORT }; /* enum pobj_tx_stage */

/* This thread. */
struct pc_self {
    bool inside;          /* of a call of libpmem that is logged: those that lie in it are not */
    const void *site;     /* where the program called PMDK, which now does its work */
    uint64_t transaction; /* 0: none */
    unsigned depth;
    bool recovering; /* libpmemobj opens a pool: it completes or takes back what a crash interrupted */
    bool late;       /* what the transaction changes is known only when libpmemobj flushes it */
    bool told;       /* what it changed is logged already */
};
extern _Thread_local struct pc_self pc_self;

/* Bytes at a place, mapped at `address`, become durable: those at `data`. */
void pc_update(struct pc_place place, const void *address, const void *data, size_t size, const void *caller);
/* All that a transaction has changed, before libpmemobj makes it durable: both then become so together. */
void pc_update_transaction(void);
void pc_fill(struct pc_place place, int byte, size_t size, const void *caller);

#endif
