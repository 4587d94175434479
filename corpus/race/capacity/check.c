/* The recovery takes what a directory has and the pool does not yet count. No segment is taken that no
 * directory has. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        return 0;
    uint64_t owned = 0;
    for (int i = 0; i < DIRECTORIES; i++)
        owned += pool->directory[i].capacity;
    if (pool->taken > owned)
        refuse("%lu segments are taken, and the directories have %lu: the others leaked", pool->taken, owned);
    if (pool->taken < owned) {
        pool->taken = owned;
        persist(&pool->taken, sizeof pool->taken);
    }
    return 0;
}
