/* What was said or counted is there. */
#include "../several.h"

int main(void) {
    static uint64_t nothing[40];
    uint64_t *pool = pool_recover("pool", sizeof nothing);
    if (!pool)
        pool = nothing;
    for (uint64_t i = 0; i < 3; i++)
        if (i < pool[32] && pool[8 * i] != i + 1)
            refuse("number %lu is gone", i);
    if (said("total") && pool[24] != 6)
        refuse("the total is gone");
    return 0;
}
