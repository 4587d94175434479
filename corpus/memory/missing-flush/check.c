/* The list is 103, 102, 101 or an end of that, and holds all that was pushed.
 */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    uint64_t length = 0, pushed = 0, values[4];
    for (uint64_t at = pool->head; at; at = pool->node[at].next) {
        if (at > 3 || length == 3)
            refuse("the list does not end");
        values[length++] = pool->node[at].value;
    }
    for (uint64_t i = 0; i < length; i++)
        if (values[i] != 100 + length - i)
            refuse("number %lu of %lu in the list is %lu", i + 1, length, values[i]);
    while (said("pushed %lu", 101 + pushed))
        pushed++;
    if (length < pushed)
        refuse("%lu values were pushed, the list holds %lu", pushed, length);
    return 0;
}
