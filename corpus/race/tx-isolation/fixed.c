/* The fixed twin of buggy.c: nobody looks while a transaction is under way. */
#include "pool.h"

static PMEMobjpool *pool;
static struct root *root;
static pthread_mutex_t lock_of_total = PTHREAD_MUTEX_INITIALIZER;

static void grow(void) {
    pthread_mutex_lock(&lock_of_total);
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&root->total, sizeof root->total);
        root->total++;
    }
    TX_END;
    pthread_mutex_unlock(&lock_of_total);
}

static void look(struct seen *seen) {
    pthread_mutex_lock(&lock_of_total);
    seen->total = root->total;
    pthread_mutex_unlock(&lock_of_total);
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
