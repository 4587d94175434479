/* The data of the flag is there; the token is somewhere. */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    if (pool->flag && pool->data != 9)
        refuse("the data is %lu", pool->data);
    if (said("placed") && !pool->old_place && !pool->new_place)
        refuse("the token is gone");
    return 0;
}
