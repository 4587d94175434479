/* A digest is believed if its checksum fits its source: then it is of something that its source has been. */
#include "pool.h"

static int fits(const struct digest *digest, const struct source *source) {
    return digest->checksum == checksum(source->value, digest->value);
}

int main(void) {
    struct pool *pool = pool_recover("pool", sizeof *pool);
    for (int i = 0; pool && i < SOURCES; i++)
        if (fits(&pool->digest[i], &pool->source[i]) && pool->digest[i].value > 2 * pool->source[i].value)
            refuse("digest %d is of %lu, and its source is %lu", i, pool->digest[i].value / 2,
                   pool->source[i].value);
    return 0;
}
