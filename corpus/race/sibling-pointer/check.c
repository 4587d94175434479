/* No key lies in a leaf that the chain does not reach, and in no other: a leaf that was about to be linked
 * holds copies. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        return 0;
    int reached[LEAVES] = {0};
    for (uint64_t number = 0;; number = pool->leaf[number].sibling - 1) {
        if (number >= LEAVES || reached[number] || pool->leaf[number].count > ROOM)
            refuse("leaf %lu is damaged", number);
        reached[number] = 1;
        if (!pool->leaf[number].sibling)
            break;
    }
    for (uint64_t key = 1; key <= KEYS; key++) {
        int found = 0, astray = 0;
        for (int i = 0; i < LEAVES; i++)
            *(reached[i] ? &found : &astray) |= holds(&pool->leaf[i], key);
        if (astray && !found)
            refuse("key %lu lies in a leaf that the chain does not reach", key);
    }
    return 0;
}
