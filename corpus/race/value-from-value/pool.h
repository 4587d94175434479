/* Items of a cache after memcached: each is a number under a lock. Item 0 is set to 1, 2, 3, ...; the others
 * take over what it is ("append" of what was read): none is ever more than item 0.
 *
 * The locks lie beside the pool, in memory that a power cut clears. */
#include "../threads.h"

enum { ITEMS = 6, CLIENTS = ITEMS, ROUNDS = 12 };

struct item {
    _Alignas(LINE) uint64_t value;
};

struct pool {
    struct item item[ITEMS];
};
