/* A list with a length, and an undo log of words for changing both together. */
#include "../pm.h"

struct node {
    uint64_t next, value;
    uint64_t unused[6];
};

struct entry {
    uint64_t place; /* of a word of the pool, in bytes from its start */
    uint64_t old;
};

struct pool {
    uint64_t head, length;
    uint64_t unused[6];
    uint64_t logged; /* entries of the undo log that count */
    uint64_t unused2[7];
    struct entry log[4];
    struct node node[4]; /* number 0 is not used */
};
