// Extendible hashing after CCEH: the first two bits of a key choose an entry of the directory, which names a
// segment.
#include "../pm.h"

struct Segment {
    uint64_t key[8]; // 0: free
};

struct Pool {
    uint64_t directory[4]; // numbers of segments; all zeros in a new pool: one segment holds all keys
    uint64_t unused[4];
    Segment segment[2];

    // The segment of a key of 8 bits.
    Segment &of(uint64_t key) {
        return segment[directory[key >> 6]];
    }
};
