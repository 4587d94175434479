/* The fixed twin of buggy.c: a fence waits for the record before it is counted. */
#include "pool.h"

static void append(struct pool *pool, uint64_t amount) {
    struct record *record = &pool->record[pool->count];
    record->number = pool->count + 1;
    record->amount = amount;
    record->sum = record->number + record->amount;
    flush(record, sizeof *record);
    fence();
    pool->count++;
    persist(&pool->count, sizeof pool->count);
    say("logged %lu", pool->count);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    append(pool, 500);
    append(pool, 600);
    append(pool, 700);
    return 0;
}
