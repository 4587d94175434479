/* A list in a pool: the newest node first. Links are numbers of nodes, 0 is the end. */
#include "../pm.h"

struct node {
    uint64_t next, value;
    uint64_t unused[6];
};

struct pool {
    uint64_t head;
    uint64_t unused[7];
    struct node node[4]; /* number 0 is not used */
};
