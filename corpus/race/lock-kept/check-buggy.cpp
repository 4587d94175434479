// The recovery looks at each segment under its lock, which a power cut may have left taken: it never ends.
#include "pool.h"

int main() {
    Pool *pool = static_cast<Pool *>(pool_recover("pool", sizeof(Pool)));
    if (!pool)
        return 0;
    for (Segment &segment : pool->segment) {
        acquire(segment);
        uint64_t sum = 0;
        for (uint64_t account : segment.account)
            sum += account;
        if (segment.made && sum != SUM && sum != SUM - 1)
            refuse("the accounts have %lu in all", sum);
        release(segment);
    }
}
