// The recovery frees each lock, and then looks at each segment under it.
#include "pool.h"

int main() {
    Pool *pool = static_cast<Pool *>(pool_recover("pool", sizeof(Pool)));
    if (!pool)
        return 0;
    for (Segment &segment : pool->segment) {
        segment.taken.store(0);
        persist(&segment.taken, sizeof segment.taken);
    }
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
