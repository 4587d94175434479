/* make_pool PATH LAYOUT: an empty pool of the smallest size, as `pmempool create obj --layout LAYOUT PATH`
 * makes it. */
#include <libpmemobj.h>
#include <stdio.h>

int main(int argc, char **argv) {
    PMEMobjpool *pool = argc == 3 ? pmemobj_create(argv[1], argv[2], PMEMOBJ_MIN_POOL, 0644) : NULL;
    if (!pool) {
        fprintf(stderr, "make_pool: %s\n", pmemobj_errormsg());
        return 1;
    }
    pmemobj_close(pool);
    return 0;
}
