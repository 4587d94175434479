/* Two buckets of a hash table, one of the bottom level and one of the top level; each with one slot. */
#include "../pm.h"

struct bucket {
    uint64_t token; /* 1: the slot is in use */
    uint64_t unused[7];
    uint64_t key, value;
    uint64_t unused2[6];
};

struct pool {
    struct bucket bottom, top;
};

#define value_of(key) ((key) * 1000 + 7)
