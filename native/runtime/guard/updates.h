/* What becomes durable, by whom, and in which transaction. */
#ifndef POWERCUT_GUARD_UPDATES_H
#define POWERCUT_GUARD_UPDATES_H

#include "log.h"
#include "pools.h"
#include "spans.h"

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
    bool saving;     /* libpmemobj copies what a range holds, to be able to take the transaction back */
};
extern _Thread_local struct pc_self pc_self;

/* All that a transaction has changed, before libpmemobj makes it durable: both then become so together. */
void pc_update_transaction(void);
/* Whether a range was logged then: it is flushed now. */
static inline bool pc_update_is_told(const void *address, size_t size) {
    return pc_self.told && pc_span_holds(address, size);
}
/* Bytes at a place, mapped at `address`, become durable: those at `data`. */
void pc_update_untold(struct pc_place place, const void *address, const void *data, size_t size,
                      const void *caller);
static inline void pc_update(struct pc_place place, const void *address, const void *data, size_t size,
                             const void *caller) {
    if (data != address || !pc_update_is_told(address, size))
        pc_update_untold(place, address, data, size, caller);
}
void pc_fill(struct pc_place place, int byte, size_t size, const void *caller);

#endif
