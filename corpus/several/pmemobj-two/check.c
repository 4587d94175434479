/* What a flag stands for is there. */
#include "pool.h"

int main(void) {
    PMEMobjpool *pool = pmemobj_open("pool", "two");
    if (pool == NULL)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    int bad = 0;
    if (root->a_flag && !root->a_data)
        bad = 1, puts("A is broken");
    if (root->b_flag && !root->b_data)
        bad = 1, puts("B is broken");
    return bad;
}
