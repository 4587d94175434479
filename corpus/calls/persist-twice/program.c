/* Persists a field twice by libpmemobj's own function, which jumps on and leaves no frame. Run as: program FILE. */
#include <libpmemobj.h>

struct root {
    unsigned long a[64];
};

int main(int count, char **words) {
    PMEMobjpool *pool = count == 2 ? pmemobj_create(words[1], "x", PMEMOBJ_MIN_POOL, 0666) : NULL;
    if (!pool)
        return 2;
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof(struct root)));
    for (int i = 0; i < 10; i++) {
        root->a[8] = i + 1;
        pmemobj_persist(pool, &root->a[8], 8);
        pmemobj_persist(pool, &root->a[8], 8); /* FAIL redundant-flush */
    }
    pmemobj_close(pool);
    return 0;
}
