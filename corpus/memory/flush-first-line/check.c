/* All letters that are counted are whole, and all that were stored are counted. */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    if (pool->count > 2)
        refuse("there are %lu letters", pool->count);
    for (uint64_t i = 0; i < pool->count; i++) {
        struct letter *letter = &pool->letter[i];
        if (letter->number != i + 1 || strncmp(letter->text, texts[i], sizeof letter->text) != 0)
            refuse("letter %lu reads: %.*s", i + 1, (int)sizeof letter->text, letter->text);
    }
    for (uint64_t i = pool->count; i < 2; i++)
        if (said("stored %lu", i + 1))
            refuse("letter %lu was stored, there are %lu", i + 1, pool->count);
    return 0;
}
