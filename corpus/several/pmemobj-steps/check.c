/* What alice gave bob has; the receipt is printed if it says so. */
#include "../several.h"
#include <libpmemobj.h>

int main(void) {
    PMEMobjpool *pool = pmemobj_open("pool", "two");
    if (pool == NULL)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    uint64_t *root = pmemobj_direct(pmemobj_root(pool, 256));
    if (root[0] != root[8])
        refuse("alice gave %lu, bob has %lu", root[0], root[8]);
    if (root[24] && root[16] != 30)
        refuse("the receipt is empty");
    return 0;
}
