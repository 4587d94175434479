// Recovery drops keys from a segment that is not theirs (any more). Then every inserted key is found.
#include "pool.h"

static void recover(Pool &pool) {
    for (Segment &segment : pool.segment)
        for (uint64_t &key : segment.key)
            if (key && &pool.of(key) != &segment)
                key = 0;
    persist(pool.segment, sizeof pool.segment);
}

static bool holds(Pool &pool, uint64_t key) {
    for (uint64_t other : pool.of(key).key)
        if (other == key)
            return true;
    return false;
}

int main() {
    auto *pool = static_cast<Pool *>(pool_recover("pool", sizeof(Pool)));
    for (int i = 0; pool && i < 4; i++)
        if (pool->directory[i] > 1)
            refuse("entry %d of the directory is %lu", i, pool->directory[i]);
    if (pool)
        recover(*pool);
    const uint64_t keys[] = {0x20, 0xc1, 0xc2};
    for (uint64_t key : keys)
        if (said("inserted %lu", key) && !(pool && holds(*pool, key)))
            refuse("key %lu was inserted and is not found", key);
}
