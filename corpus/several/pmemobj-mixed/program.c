/* A counter, then a transaction. */
#include "../several.h"
#include <libpmemobj.h>

struct root {
    uint64_t counter, unused1[7];
    uint64_t value, unused2[7];
};

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    PMEMobjpool *pool = argc == 3 ? pmemobj_create("pool", "mix", PMEMOBJ_MIN_POOL, 0644) : pmemobj_open("pool", "mix");
    need(pool != NULL, "pool");
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    if (argc == 3)
        return 0;
    root->counter = 1; // LOST a
    if (mended('a'))
        pmemobj_persist(pool, &root->counter, 8);
    say("counted"); // ACKED a
    pmemobj_persist(pool, &root->counter, 8);

    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&root->value, 8); // LOST b
        root->value = 2;                              // LOST b
        if (!mended('b'))
            say("changed"); // ACKED b
    } // LOST b
    TX_END; // LOST b
    if (mended('b'))
        say("changed");
    return 0;
}
