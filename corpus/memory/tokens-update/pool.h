/* One bucket of a hash table: the tokens of all slots in one word. */
#include "../pm.h"

struct slot {
    uint64_t key, value;
};

struct bucket {
    union {
        uint8_t token[8]; /* 1: the slot of this number is in use; there are four */
        uint64_t tokens;
    };
    uint64_t unused[7];
    struct slot slot[4];
};
