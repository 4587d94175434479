/* All records that the log counts are whole, and all that were logged are counted. */
#include "pool.h"

int main(void) {
    static struct pool nothing;
    struct pool *pool = pool_recover("pool", sizeof *pool);
    if (!pool)
        pool = &nothing;
    if (pool->count > 3)
        refuse("the log counts %lu records", pool->count);
    for (uint64_t i = 0; i < pool->count; i++) {
        struct record *record = &pool->record[i];
        if (record->number != i + 1 || record->amount != 500 + 100 * i ||
            record->sum != record->number + record->amount)
            refuse("the log counts %lu records, record %lu is damaged", pool->count, i + 1);
    }
    for (uint64_t i = pool->count; i < 3; i++)
        if (said("logged %lu", i + 1))
            refuse("record %lu was logged, the log counts %lu", i + 1, pool->count);
    return 0;
}
