/* What was said is there. */
#include "../several.h"
#include <libpmemobj.h>

int main(void) {
    PMEMobjpool *pool = pmemobj_open("pool", "mix");
    if (pool == NULL)
        refuse("the pool cannot be opened: %s", pmemobj_errormsg());
    uint64_t *root = pmemobj_direct(pmemobj_root(pool, 128));
    if (said("counted") && root[0] != 1)
        refuse("the counter is gone");
    if (said("changed") && root[8] != 2)
        refuse("the value is gone");
    return 0;
}
