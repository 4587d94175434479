/* All records that the log counts are whole, and all that were logged are counted. */
#include "pool.h"

int main(void) {
    struct pool *pool = pool_recover("log", sizeof *pool);
    uint64_t count = pool ? pool->page[0].count : 0;
    if (count > RECORDS)
        refuse("the log counts %lu records", count);
    for (uint64_t i = 1; i <= count; i++)
        if (pool->page[i].value != 100 + i || pool->page[i].again != 100 + i)
            refuse("the log counts %lu records, record %lu is damaged", count, i);
    for (uint64_t i = count + 1; i <= RECORDS; i++)
        if (said("logged %lu", i))
            refuse("record %lu was logged, the log counts %lu", i, count);
    return 0;
}
