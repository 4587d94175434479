/* The library recovers. Then the list is 3, 2, 1 or an end of that, and what was popped is not in it. */
#include "pool.h"

int main(void) {
    PMEMobjpool *pool = pmemobj_open("pool", POBJ_LAYOUT_NAME(stack));
    if (!pool)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    TOID(struct node) node = D_RO(root)->head;
    uint64_t first = TOID_IS_NULL(node) ? 0 : D_RO(node)->value;
    if (first < 1 || first > 3)
        refuse("the list begins with %lu", first);
    for (uint64_t value = first; value; value--, node = D_RO(node)->next)
        if (TOID_IS_NULL(node) || D_RO(node)->value != value)
            refuse("%lu is missing in the list", value);
    if (!TOID_IS_NULL(node))
        refuse("the list does not end");
    for (uint64_t value = 1; value <= first; value++)
        if (said("popped %lu", value))
            refuse("%lu was popped and is in the list", value);
    pmemobj_close(pool);
    return 0;
}
