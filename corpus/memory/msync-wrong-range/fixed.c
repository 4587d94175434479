/* The fixed twin of buggy.c: the msync names the page of the record. */
#include "pool.h"

static void append(struct pool *pool, uint64_t value) {
    struct page *head = &pool->page[0], *record = &pool->page[head->count + 1];
    record->value = value;
    record->again = value;
    need(msync(record, PAGE, MS_SYNC) == 0, "msync");
    head->count++;
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
