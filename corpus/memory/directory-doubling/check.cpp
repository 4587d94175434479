// Every key that was inserted is found through the directory.
#include "pool.h"

static bool holds(Pool &pool, uint64_t key) {
    for (uint64_t other : pool.of(key).key)
        if (other == key)
            return true;
    return false;
}

int main() {
    auto *pool = static_cast<Pool *>(pool_recover("pool", sizeof(Pool)));
    bool empty = !pool || !pool->root.directory;
    if (!empty && (pool->root.directory > 2 || pool->root.depth < 1 || pool->root.depth > 2))
        refuse("directory %u with depth %u", pool->root.directory, pool->root.depth);
    const uint64_t keys[] = {0x20, 0xc0, 0x60};
    for (uint64_t key : keys)
        if (said("inserted %lu", key) && (empty || !holds(*pool, key)))
            refuse("key %lu was inserted and is not found", key);
}
