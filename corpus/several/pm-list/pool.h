/* A node, the head that points to it, and a range; each in lines of its own. */
#include "../several.h"

struct pool {
    uint64_t value, unused1[7];
    uint64_t head, unused2[7];
    uint64_t first, unused3[7];
    uint64_t last, unused4[7];
};
