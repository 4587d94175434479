/* The library recovers. Then the total is that of the numbers, and all inserted numbers are there. */
#include "pool.h"

int main(void) {
    PMEMobjpool *pool = pmemobj_open("pool", POBJ_LAYOUT_NAME(numbers));
    if (!pool)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    const struct node *node = D_RO(D_RO(root)->node);
    uint64_t total = 0, count = node->count;
    if (count > 2)
        refuse("the node counts %lu numbers", count);
    for (uint64_t i = 0; i < count; i++) {
        total += node->number[i];
        if (node->number[i] != 101 + i)
            refuse("number %lu is %lu", i + 1, node->number[i]);
    }
    if (total != D_RO(root)->total)
        refuse("the total of %lu numbers is %lu, not %lu", count, total, D_RO(root)->total);
    for (uint64_t number = 101 + count; number <= 102; number++)
        if (said("inserted %lu", number))
            refuse("%lu was inserted and is gone", number);
    pmemobj_close(pool);
    return 0;
}
