/* Transactions of PMDK are atomic, and not isolated: what one has stored, others see before it is committed.
 *
 * A thread reads the total in the middle of a transaction and persists what it has seen. After a power cut
 * the transaction is rolled back, and what was seen never was. */
#include "pool.h"

static PMEMobjpool *pool;
static struct root *root;

static void grow(void) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&root->total, sizeof root->total);
        root->total++; // WRITE
    }
    TX_END;
}

static void look(struct seen *seen) {
    seen->total = root->total; // READ EFFECT
    pmemobj_persist(pool, &seen->total, sizeof seen->total);
}

static void *run(void *number) {
    for (int round = 0; round < ROUNDS; round++)
        if (number)
            look(&root->seen[(intptr_t)number - 1]);
        else
            grow();
    return NULL;
}

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    pool = argc == 3 ? pmemobj_create("pool", POBJ_LAYOUT_NAME(totals), PMEMOBJ_MIN_POOL, 0644)
                     : pmemobj_open("pool", POBJ_LAYOUT_NAME(totals));
    need(pool != NULL, "the pool");
    root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    if (argc == 2)
        together(1 + READERS, run);
    pmemobj_close(pool);
    return 0;
}
