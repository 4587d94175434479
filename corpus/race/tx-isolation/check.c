/* The library recovers. Then nobody has seen more than the total is. */
#include "pool.h"

int main(void) {
    PMEMobjpool *pool = pmemobj_open("pool", POBJ_LAYOUT_NAME(totals));
    if (!pool)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    const struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    for (int i = 0; i < READERS; i++)
        if (root->seen[i].total > root->total)
            refuse("a total of %lu was seen, and it is %lu", root->seen[i].total, root->total);
    pmemobj_close(pool);
    return 0;
}
