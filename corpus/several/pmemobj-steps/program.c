/* A transfer, then its receipt. */
#include "../several.h"
#include <libpmemobj.h>

struct root {
    uint64_t alice, unused1[7];
    uint64_t bob, unused2[7];
    uint64_t receipt, unused3[7];
    uint64_t printed, unused4[7];
};

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    PMEMobjpool *pool = argc == 3 ? pmemobj_create("pool", "two", PMEMOBJ_MIN_POOL, 0644) : pmemobj_open("pool", "two");
    need(pool != NULL, "pool");
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    if (argc == 3)
        return 0;
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&root->alice, 8); // SURVIVED a LOST a
        root->alice = 30;                             // SURVIVED a LOST a
        if (mended('a')) {
            pmemobj_tx_add_range_direct(&root->bob, 8);
            root->bob = 30;
        }
    } // SURVIVED a LOST a
    TX_END; // SURVIVED a LOST a
    if (!mended('a')) {
        TX_BEGIN(pool) {                                // LOST a
            pmemobj_tx_add_range_direct(&root->bob, 8); // LOST a
            root->bob = 30;                             // LOST a
        } // LOST a
        TX_END; // LOST a
    }
    root->receipt = 30; // LOST b
    if (mended('b'))
        pmemobj_persist(pool, &root->receipt, 8);
    root->printed = 1;                        // SURVIVED b
    pmemobj_persist(pool, &root->printed, 8); // SURVIVED b
    return 0;
}
