/* Every digest is believed: then it is of something that its source has been. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    for (int i = 0; pool && i < SOURCES; i++)
        if (pool->digest[i].value > 2 * pool->source[i].value)
            refuse("digest %d is of %lu, and its source is %lu", i, pool->digest[i].value / 2,
                   pool->source[i].value);
    return 0;
}
