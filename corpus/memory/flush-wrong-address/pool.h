/* Settings in two places, of which one is current. */
#include "../pm.h"

struct settings {
    uint64_t version;
    uint64_t limit; /* ten times the version, so that a check can tell */
    uint64_t unused[6];
};

struct pool {
    uint64_t current; /* 0: none yet; else settings[current - 1] */
    uint64_t unused[7];
    struct settings settings[2];
};
