/* The leaves of a B+ tree after FAST_FAIR: a chain. The keys of a leaf are below `end`; who looks for a
 * larger key goes on to the sibling, without a lock. Keys are not removed.
 *
 * The locks lie beside the pool, in memory that a power cut clears. */
#include "../threads.h"

enum { ROOM = 6, LEAVES = 40, KEYS = 60, WRITERS = 4 };

struct leaf {
    _Alignas(LINE) uint64_t sibling; /* number in leaf, plus 1; 0: this is the last one */
    uint64_t end;                    /* keys from here on are in the sibling; 0: there is none */
    _Alignas(LINE) uint64_t count;
    uint64_t key[ROOM];
};

struct pool {
    struct leaf leaf[LEAVES]; /* a new pool begins with leaf 0, empty */
};

static inline int holds(const struct leaf *leaf, uint64_t key) {
    for (uint64_t i = 0; i < leaf->count; i++)
        if (leaf->key[i] == key)
            return 1;
    return 0;
}
