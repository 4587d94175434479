/* A log after HSE's MDC: a header with a checksum. */
#include "../pm.h"
#include <stddef.h>

enum { VERSION = 2, MAGIC = 0x6d646331 };

struct header {
    uint32_t version, magic;
    uint64_t generation;
    uint64_t crc; /* of all above */
    uint64_t unused[5];
};

static inline uint64_t crc_of(const struct header *header) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < offsetof(struct header, crc); i++)
        hash = (hash ^ ((const uint8_t *)header)[i]) * 1099511628211u;
    return hash;
}
