/* Sources that grow, and for each a digest that others made of it, with a checksum of both: a digest that
 * does not fit its source is none.
 *
 * The locks lie beside the pool, in memory that a power cut clears. */
#include "../threads.h"

enum { SOURCES = 2, READERS = 2, ROUNDS = 20 };

struct source {
    _Alignas(LINE) uint64_t value;
};

struct digest {
    _Alignas(LINE) uint64_t value; /* twice the source's */
    uint64_t checksum;             /* of the source and the value; 0: there is no digest */
};

struct pool {
    struct source source[SOURCES];
    struct digest digest[SOURCES];
};

static inline uint64_t checksum(uint64_t source, uint64_t value) {
    return ((source ^ 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu ^ value) * 0xc4ceb9fe1a85ec53u | 1;
}
