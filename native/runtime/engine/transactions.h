/* The transactions of a thread, and their log: what checker_backup.c and checker_completion.c share. */
#ifndef POWERCUT_TRANSACTIONS_H
#define POWERCUT_TRANSACTIONS_H

#include "shadow.h"

struct engine;
struct transactions {
    struct shadow log; /* emptied by the end of the outermost one */
    unsigned depth;
    bool is_full;   /* not all that was added is in the log */
    uint32_t begun; /* site of the outermost one */
};

void transaction_begin(struct transactions *transactions, uint32_t site);
void transaction_end(struct engine *engine, uint32_t site, bool of_all);

#endif
