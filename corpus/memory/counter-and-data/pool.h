/* A bag of numbers: which places are used, how many they are, and the numbers. */
#include "../pm.h"

union header {
    struct {
        uint32_t used; /* a bit for each place */
        uint32_t count;
    };
    uint64_t word; /* both at once */
};

struct pool {
    union header header;
    uint64_t unused[7];
    uint64_t number[8];
};
