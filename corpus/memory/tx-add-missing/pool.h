/* A pool of libpmemobj: a root with a total, and a node with the numbers it is the total of. */
#include "../pm.h"
#include <libpmemobj.h>

POBJ_LAYOUT_BEGIN(numbers);
POBJ_LAYOUT_ROOT(numbers, struct root);
POBJ_LAYOUT_TOID(numbers, struct node);
POBJ_LAYOUT_END(numbers);

struct node {
    uint64_t count;
    uint64_t number[7];
};

struct root {
    TOID(struct node) node;
    uint64_t total;
};
