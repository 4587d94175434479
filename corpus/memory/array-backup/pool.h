/* An array whose items are backed up before they change; the backup's flag is in a cache line of its own. */
#include "../pm.h"

struct item {
    uint64_t value;
    uint64_t again; /* the same, so that a check can tell */
    uint64_t unused[6];
};

struct pool {
    struct item array[2];
    struct item backup;
    uint64_t valid; /* 0: the backup does not count; else it is of array[valid - 1] */
    uint64_t unused[7];
};

#define value_of(index, version) ((version) ? 100 * (index) + (version) : 0)
