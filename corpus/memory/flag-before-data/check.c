/* Every slot in use holds an item, and every inserted key is there. */
#include "pool.h"

int main(void) {
    struct bucket *bucket = pool_recover("pool", sizeof *bucket);
    uint64_t found[2] = {0};
    for (int i = 0; bucket && i < 4; i++) {
        struct slot slot = bucket->slot[i];
        if (!bucket->token[i])
            continue;
        if (slot.key < 11 || slot.key > 12 || slot.value != value_of(slot.key))
            refuse("slot %d is in use and holds key %lu, value %lu", i, slot.key, slot.value);
        if (found[slot.key - 11]++)
            refuse("key %lu is there twice", slot.key);
    }
    for (uint64_t key = 11; key <= 12; key++)
        if (!found[key - 11] && said("inserted %lu", key))
            refuse("key %lu was inserted and is gone", key);
    return 0;
}
