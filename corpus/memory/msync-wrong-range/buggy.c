/* A record is synced before it is counted, but the msync names the first page, and the record is in another
 * one.
 *
 * The record's page is never synced. The power cut leaves a log that counts a record which is not there. */
#include "pool.h"

static void append(struct pool *pool, uint64_t value) {
    struct page *head = &pool->page[0], *record = &pool->page[head->count + 1];
    record->value = value; // LOST
    record->again = value; // LOST
    need(msync(pool, PAGE, MS_SYNC) == 0, "msync");
    head->count++; // SURVIVED
    need(msync(head, PAGE, MS_SYNC) == 0, "msync");
    say("logged %lu", head->count);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "log", sizeof *pool);
    append(pool, 101);
    append(pool, 102);
    return 0;
}
