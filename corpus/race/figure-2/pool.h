/* A hash table after P-CLHT, as in Figure 2 of the PMRace paper: writers lock a bucket of the table that the
 * pool leads to. When a table is full, a thread copies all keys to the next one, which is twice as large, and
 * leads the pool there. Keys are not removed, 0 is free.
 *
 * The locks lie beside the pool, in memory that a power cut clears. */
#include "../threads.h"

enum { WAYS = 6, TABLES = 5, FIRST = 4, KEYS = 48, WRITERS = 4 };

struct bucket {
    _Alignas(LINE) uint64_t key[WAYS];
};

struct table {
    _Alignas(LINE) uint64_t buckets;
    struct bucket bucket[FIRST << TABLES];
};

struct pool {
    _Alignas(LINE) uint64_t current; /* number in table, plus 1; 0: the first one is not yet made */
    struct table table[TABLES];
};

static inline struct bucket *bucket_of(struct table *table, uint64_t key) {
    return &table->bucket[key * 0x9e3779b97f4a7c15u >> 32 & (table->buckets - 1)];
}

/* The place of a key in its bucket, of 0 for a free one; NULL: it is not there. */
static inline uint64_t *place(struct bucket *bucket, uint64_t key) {
    for (int way = 0; way < WAYS; way++)
        if (__atomic_load_n(&bucket->key[way], __ATOMIC_ACQUIRE) == key)
            return &bucket->key[way];
    return NULL;
}
