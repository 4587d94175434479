/* The bag holds as many numbers as it counts, and all that were added. */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    union header header = (pool ? pool : &nothing)->header;
    if (__builtin_popcount(header.used) != (int)header.count)
        refuse("the bag counts %u numbers and holds %d", header.count, __builtin_popcount(header.used));
    for (uint64_t place = 0; place < 3; place++) {
        int used = header.used >> place & 1;
        if (used && pool->number[place] != 101 + place)
            refuse("place %lu holds %lu", place, pool->number[place]);
        if (!used && said("added %lu", 101 + place))
            refuse("%lu was added and is gone", 101 + place);
    }
    return 0;
}
