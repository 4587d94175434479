// Recovery ends a split: a left leaf ends where the right one begins. Then every appended key is there, in
// order.
#include "pool.h"

static void recover(Pool &pool) {
    Page &root = pool.page[pool.root];
    if (!root.right)
        return;
    Page &left = pool.page[root.left];
    while (left.count && left.key[left.count - 1] >= root.key[0])
        left.count--;
    persist(&left, sizeof left);
}

static bool holds(Pool &pool, uint64_t key) {
    Page &leaf = pool.of(key);
    for (uint64_t i = 0; i < leaf.count; i++)
        if (leaf.key[i] == key)
            return true;
    return false;
}

int main() {
    auto *pool = static_cast<Pool *>(pool_recover("pool", sizeof(Pool)));
    if (pool && pool->root != 0 && pool->root != 2)
        refuse("the root is page %lu", pool->root);
    for (int i = 0; pool && i < 3; i++)
        if (pool->page[i].count > 4 || pool->page[i].left > 2 || pool->page[i].right > 2)
            refuse("page %d is damaged", i);
    if (pool)
        recover(*pool);
    for (uint64_t key = 11; key <= 15; key++)
        if (said("appended %lu", key) && !(pool && holds(*pool, key)))
            refuse("key %lu was appended and is not found", key);
}
