/* The number is there when that was said; what is counted is there. */
#include "../several.h"

int main(void) {
    static uint64_t nothing[3 * 512];
    uint64_t *table = pool_recover("table", sizeof nothing);
    if (!table)
        table = nothing;
    if (said("number") && table[0] != 100)
        refuse("the number is gone");
    if (table[2 * 512] == 1 && table[512] != 77)
        refuse("the record is not there");
    if (said("counted") && table[2 * 512] != 1)
        refuse("the count is gone");
    return 0;
}
