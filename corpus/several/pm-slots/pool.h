/* Two slots, each with its flag in a line of its own. */
#include "../several.h"

struct slot {
    uint64_t value, unused[7];
    uint64_t used, unused2[7];
};

struct pool {
    struct slot slot[2];
};
