/* The current settings are whole, and not older than the last ones saved. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    struct settings now = {0};
    if (pool && pool->current > 2)
        refuse("settings %lu are current", pool->current);
    if (pool && pool->current) {
        now = pool->settings[pool->current - 1];
        if (now.version != pool->current || now.limit != 10 * now.version)
            refuse("the current settings are version %lu with limit %lu", now.version, now.limit);
    }
    for (uint64_t version = now.version + 1; version <= 2; version++)
        if (said("saved %lu", version))
            refuse("version %lu was saved, version %lu is current", version, now.version);
    return 0;
}
