/* One bucket of a hash table: tokens in one cache line, slots in the next. */
#include "../pm.h"

struct slot {
    uint64_t key, value;
};

struct bucket {
    uint8_t token[LINE]; /* the first four count. 1: the slot of this number is in use */
    struct slot slot[4];
};

#define value_of(key) ((key) * 1000 + 7)
