/* A chained hash table after P-CLHT. A bucket is one cache line; links are numbers of buckets, 0 is the end.
 */
#include "../pm.h"

struct bucket {
    uint64_t key[3]; /* 0: free */
    uint64_t value[3];
    uint64_t next;
    uint64_t unused;
};

struct table {
    uint64_t first; /* number of the first of its buckets; 0: no table yet */
    uint64_t buckets;
};

struct pool {
    uint64_t current; /* number of the table in use */
    uint64_t unused[7];
    struct table table[2];
    uint64_t unused2[4];
    struct bucket bucket[8]; /* number 0 is not used */
};

#define value_of(key) ((key) * 1000 + 7)
