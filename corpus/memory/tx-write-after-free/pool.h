/* A pool of libpmemobj: a root and a list of nodes. */
#include "../pm.h"
#include <libpmemobj.h>

POBJ_LAYOUT_BEGIN(stack);
POBJ_LAYOUT_ROOT(stack, struct root);
POBJ_LAYOUT_TOID(stack, struct node);
POBJ_LAYOUT_END(stack);

struct node {
    uint64_t value;
    TOID(struct node) next;
};

struct root {
    TOID(struct node) head;
};
