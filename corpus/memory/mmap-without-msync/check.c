/* Every number of the table is as it was set, or not set yet; none that was said to be set is missing. */
#include "pool.h"

int main(void) {
    static uint64_t nothing[NUMBERS];
    uint64_t *table = pool_recover("table", sizeof nothing);
    if (!table)
        table = nothing;
    for (int place = 0; place < NUMBERS; place++) {
        uint64_t wanted = place == 0 ? 100 : place == 511 ? 101 : 0;
        if (table[place] != 0 && table[place] != wanted)
            refuse("number %d is %lu", place, table[place]);
        if (table[place] != wanted && said("set %d %lu", place, wanted))
            refuse("number %d was set to %lu and is %lu", place, wanted, table[place]);
    }
    return 0;
}
