/* A pair that is used is whole; one that was said to be stored is used. */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    for (int i = 0; i < 2; i++) {
        struct pair *pair = &pool->pair[i];
        if (pair->used && (pair->left != 7 + (uint64_t)i || pair->right != pair->left))
            refuse("pair %d is %lu and %lu", i, pair->left, pair->right);
        if (!pair->used && said("stored %d", i))
            refuse("pair %d is gone", i);
    }
    return 0;
}
