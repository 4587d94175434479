/* A log in a pool: the number of records, then the records, each in a cache line of its own. */
#include "../pm.h"

struct record {
    uint64_t number, amount;
    uint64_t sum; /* of both */
    uint64_t unused[5];
};

struct pool {
    uint64_t count;
    uint64_t unused[7];
    struct record record[3];
};
