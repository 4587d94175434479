/* Transactions with an undo log.
 *
 * What is changed is added to the log before (TX_ADD, or TX_OWN for what may be in it already), or is new
 * (TX_NEW); what is stored (TX_STORE, TX_FILL, TX_MOVE) is remembered and flushed at the end, each cache line
 * once. Transactions may lie in each other; the end of the outermost one commits. The log is the business of
 * tx.c and is not tracked: a checker is told of transactions, not of how they are made. */
#pragma once

#include "track.h"

#include <stdbool.h>

#define TX_BEGIN()              (tx_begin(), pc_tx_begin())
#define TX_END()                (tx_end(), pc_tx_end())
#define TX_ADD(start, size)     (UNLESS_SKIPPED(tx_add(start, size)), pc_tx_add(start, size))
#define TX_OWN(object)          (tx_has(object, sizeof *(object)) ? (void)0 : TX_ADD(object, sizeof *(object)))
#define TX_NEW(start, size)     (tx_new(start, size), pc_tx_alloc(start, size))
#define TX_STORE(place, value)  (UNLESS_SKIPPED(tx_store(&(place), sizeof(place))), STORE(place, value))
#define TX_FILL(to, from, size) (UNLESS_SKIPPED(tx_store(to, size)), FILL(to, from, size))
#define TX_MOVE(to, from, size)                                                                              \
    (UNLESS_SKIPPED(tx_store(to, size)), memmove(to, from, size), pc_write(to, size))
#define TX_ZERO(start, size)                                                                                 \
    (UNLESS_SKIPPED(tx_store(start, size)), memset(start, 0, size), pc_write(start, size))

void tx_begin(void);
void tx_end(void);
void tx_add(const void *start, size_t size);
void tx_new(const void *start, size_t size);
bool tx_has(const void *start, size_t size); /* in the log, or new */
void tx_store(const void *start, size_t size);
void tx_free(void *block, size_t size); /* when the transaction is over */

/* Take back what an interrupted transaction did; whether there was one. */
bool tx_recover(void);
