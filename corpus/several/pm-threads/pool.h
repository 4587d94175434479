/* Data and its flag; a token that is in one of two places. */
#include "../several.h"

struct pool {
    uint64_t data, unused1[7];
    uint64_t flag, unused2[7];
    uint64_t old_place, unused3[7];
    uint64_t new_place, unused4[7];
};
