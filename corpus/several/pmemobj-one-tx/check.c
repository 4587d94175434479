/* A size may be ahead of the version, and never behind; the owner comes with the version. */
#include "pool.h"

int main(void) {
    PMEMobjpool *pool = pmemobj_open("pool", "tx");
    if (pool == NULL)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    int bad = 0;
    if (root->size < root->version)
        bad = 1, puts("the size is behind");
    if (root->owner > root->version)
        bad = 1, puts("the owner is that of a version that was rolled back");
    return bad;
}
