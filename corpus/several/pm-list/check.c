/* What the head points to is there; both ends of the range moved, or none. */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    if (pool->head && pool->value != 55)
        refuse("the list holds %lu", pool->value);
    uint64_t first = pool->first & 0xffffffff, last = pool->first >> 32 | pool->last;
    if (first != last)
        refuse("the range goes from %lu to %lu", first, last);
    if (said("moved") && first != 1)
        refuse("the range is where it was");
    return 0;
}
