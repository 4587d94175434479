/* The flags stand for what is there. */
#include "../several.h"

int main(void) {
    static uint64_t nothing[32];
    uint64_t *pool = pool_recover("pool", sizeof nothing);
    if (!pool)
        pool = nothing;
    if (pool[16] && !pool[0])
        refuse("the first word is not there");
    if (pool[24] && !pool[8])
        refuse("the second word is not there");
    return 0;
}
