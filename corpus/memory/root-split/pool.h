// A B+ tree after FAST_FAIR, of at most three pages: one leaf, or a root with two leaves.
#include "../pm.h"

struct Page {
    uint64_t count;       // of keys
    uint64_t key[4];      // in a root: key[0] is the first key of the right leaf
    uint64_t left, right; // pages of a root; 0, 0: this is a leaf
    uint64_t unused;
};

struct Pool {
    uint64_t root; // a new pool begins with page 0, an empty leaf
    uint64_t unused[7];
    Page page[3];

    // The leaf of a key.
    Page &of(uint64_t key) {
        Page &top = page[root];
        if (!top.right)
            return top;
        return page[key < top.key[0] ? top.left : top.right];
    }
};
