/* Recovery rolls back what was not committed. Then the list is as long as it says, and holds all that was
 * appended. */
#include "pool.h"

static void recover(struct pool *pool) {
    if (pool->logged > 4)
        refuse("%lu words are logged", pool->logged);
    for (uint64_t i = pool->logged; i-- > 0;) {
        uint64_t *word = (uint64_t *)((char *)pool + pool->log[i].place);
        *word = pool->log[i].old;
        persist(word, sizeof *word);
    }
    pool->logged = 0;
    persist(&pool->logged, sizeof pool->logged);
}

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    recover(pool);
    uint64_t length = 0;
    for (uint64_t at = pool->head; at; at = pool->node[at].next, length++)
        if (at > 3 || length == 3 || pool->node[at].value != 100 + at)
            refuse("node %lu is damaged", at);
    if (length != pool->length)
        refuse("the list has %lu nodes and says %lu", length, pool->length);
    for (uint64_t value = 101 + length; value <= 102; value++)
        if (said("appended %lu", value))
            refuse("%lu was appended and is gone", value);
    return 0;
}
