/* A pool of libpmemobj: a total that grows in transactions, and what some threads have seen of it. Nobody can
 * have seen more than the total is. */
#include "../threads.h"

#include <libpmemobj.h>

POBJ_LAYOUT_BEGIN(totals);
POBJ_LAYOUT_ROOT(totals, struct root);
POBJ_LAYOUT_END(totals);

enum { READERS = 2, ROUNDS = 6 };

struct seen {
    _Alignas(LINE) uint64_t total;
};

struct root {
    _Alignas(LINE) uint64_t total;
    struct seen seen[READERS];
};
