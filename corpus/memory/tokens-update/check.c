/* The key has one value, not older than the last one set. */
#include "pool.h"

int main(void) {
    struct bucket *bucket = pool_recover("pool", sizeof *bucket);
    uint64_t value = 0, last = 0;
    for (int i = 0; bucket && i < 4; i++) {
        if (!bucket->token[i])
            continue;
        if (bucket->slot[i].key != 5)
            refuse("slot %d holds key %lu, which nobody inserted", i, bucket->slot[i].key);
        if (value)
            refuse("the key has two values: %lu and %lu", value, bucket->slot[i].value);
        value = bucket->slot[i].value;
    }
    while (said("set 5 %lu", last + 1))
        last++;
    if (value < last || value > 3)
        refuse("the value was set to %lu and is %lu", last, value);
    return 0;
}
