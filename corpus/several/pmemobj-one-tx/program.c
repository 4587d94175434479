/* One transaction changes three fields, and adds one of them. */
#include "pool.h"

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    PMEMobjpool *pool = argc == 3 ? pmemobj_create("pool", "tx", PMEMOBJ_MIN_POOL, 0644) : pmemobj_open("pool", "tx");
    need(pool != NULL, "pool");
    PMEMoid oid = pmemobj_root(pool, sizeof(struct root));
    struct root *root = pmemobj_direct(oid);
    if (argc == 3)
        return 0;
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&root->version, 8); // SURVIVED a b LOST b
        if (mended('a'))
            pmemobj_tx_add_range_direct(&root->size, 8);
        if (mended('b'))
            pmemobj_tx_add_range_direct(&root->owner, 8);
        root->size = 1;  // LOST a
        root->owner = 1; // SURVIVED b
        pmemobj_persist(pool, &root->owner, 8); // SURVIVED b
        root->version = 1; // SURVIVED a LOST b
    } // SURVIVED a LOST b
    TX_END; // SURVIVED a LOST b
    say("done"); // ACKED a
    return 0;
}
