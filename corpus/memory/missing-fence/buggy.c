/* An append to a log: the record is flushed before it is counted, but no fence waits for the flush.
 *
 * clwb only starts the write-back; the count can overtake it. After the power cut the log counts a record
 * that is not there or only half there. */
#include "pool.h"

static void append(struct pool *pool, uint64_t amount) {
    struct record *record = &pool->record[pool->count];
    record->number = pool->count + 1;              // LOST
    record->amount = amount;                       // LOST
    record->sum = record->number + record->amount; // LOST
    flush(record, sizeof *record);
    pool->count++; // SURVIVED
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
