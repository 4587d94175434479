/* A version, and what comes with it. */
#include "../several.h"
#include <libpmemobj.h>

struct root {
    uint64_t version, unused1[7];
    uint64_t size, unused2[7];
    uint64_t owner, unused3[7];
};
