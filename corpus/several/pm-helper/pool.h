/* Two pairs; left and right of a pair are in lines of their own, as is the flag that says that they are there. */
#include "../several.h"

struct pair {
    uint64_t left, unused1[7];
    uint64_t right, unused2[7];
    uint64_t used, unused3[7];
};

struct pool {
    struct pair pair[2];
};
