// Extendible hashing after CCEH: the first bits of a key choose an entry of the directory, which names a
// segment.
#include "../pm.h"

struct Segment {
    uint64_t key[8]; // 0: free
};

struct Directory {
    uint64_t segment[8]; // numbers in Pool::segment
};

union Root {
    struct {
        uint32_t directory; // 1, 2: number in Pool::directory, plus 1; 0: there is no table yet
        uint32_t depth;     // how many bits of a key count; the directory has 2^depth entries
    };
    uint64_t word; // both at once
};

struct Pool {
    Root root;
    uint64_t unused[7];
    Directory directory[2];
    Segment segment[2];

    // The segment of a key of 8 bits.
    Segment &of(uint64_t key) {
        return segment[directory[root.directory - 1].segment[key >> (8 - root.depth)]];
    }
};
