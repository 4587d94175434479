/* Flags stand for what is there; so do words. */
#include "../several.h"

int main(void) {
    static uint64_t nothing[48];
    uint64_t *pool = pool_recover("pool", sizeof nothing);
    if (!pool)
        pool = nothing;
    if (pool[8] && !pool[0])
        refuse("there is no name");
    if (pool[24] && !pool[16])
        refuse("there is no size");
    if (said("owned") && !pool[32])
        refuse("there is no owner");
    if (said("locked") && !pool[40])
        refuse("it is not locked");
    return 0;
}
