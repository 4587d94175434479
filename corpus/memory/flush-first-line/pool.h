/* Letters in a pool, each longer than a cache line. */
#include "../pm.h"

struct letter {
    uint64_t number;
    char text[3 * LINE - 8];
};

struct pool {
    uint64_t count;
    uint64_t unused[7];
    struct letter letter[2];
};

static const char *const texts[2] = {
    "Dear reader, this letter is long enough to fill one cache line, and with these last words also another "
    "one.",
    "Dear reader, the second letter says no more than the first one did, but it takes just as many words to "
    "do so.",
};
