/* Items of a cache after memcached, and an index of them by value, which the recovery may build anew.
 *
 * The lock of the items lies beside the pool, in memory that a power cut clears. */
#include "../threads.h"

enum { ITEMS = 8, SETTERS = 2, INDEXERS = 2, ROUNDS = 10 };

struct item {
    _Alignas(LINE) uint64_t value;
};

struct entry {
    _Alignas(LINE) uint64_t value; /* of the item, when the entry was made */
};

struct pool {
    struct item item[ITEMS];
    struct entry index[ITEMS];
};
