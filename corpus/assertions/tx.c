/* The undo log: an entry is persistent before the log's length says that it counts, and that is persistent
 * before anything that the entry saves is changed. The length goes back to zero when all changes are
 * persistent. */
#include "tx.h"

#include "bugs.h"
#include "pool.h"

enum { MOST = 1 << 14 };

struct range {
    uintptr_t low, high;
};
struct ranges {
    size_t count;
    struct range at[MOST];
};
struct entry {
    uint64_t address, size;
    unsigned char old[];
};

static unsigned depth;
static struct ranges saved, stored; /* of the transaction: safe to change; changed, as whole lines */
static struct {
    void *block;
    size_t size;
} freed[MOST];
static size_t frees;

static void append(struct ranges *ranges, uintptr_t low, uintptr_t high) {
    need_room(ranges->count < MOST, "a transaction");
    ranges->at[ranges->count++] = (struct range){low, high};
}

static bool hold(const struct ranges *ranges, uintptr_t low, uintptr_t high) {
    for (size_t i = ranges->count; i-- > 0;)
        if (ranges->at[i].low <= low && high <= ranges->at[i].high)
            return true;
    return false;
}

static size_t size_in_log(size_t size) {
    return (sizeof(struct entry) + size + LINE - 1) / LINE * LINE;
}

void tx_begin(void) {
    depth++;
}

void tx_add(const void *start, size_t size) {
    if (!depth)
        return; /* a mistake, which a checker tells */
    struct log *log = &pool->log;
    need_room(log->used + size_in_log(size) <= LOG_SIZE, "the log");
    struct entry *entry = (struct entry *)(log->entries + log->used);
    entry->address = (uintptr_t)start;
    entry->size = size;
    memcpy(entry->old, start, size);
    persist(entry, sizeof *entry + size);
    log->used += size_in_log(size);
    persist(&log->used, sizeof log->used);
    append(&saved, (uintptr_t)start, (uintptr_t)start + size);
}

void tx_new(const void *start, size_t size) {
    append(&saved, (uintptr_t)start, (uintptr_t)start + size);
}

bool tx_has(const void *start, size_t size) {
    return hold(&saved, (uintptr_t)start, (uintptr_t)start + size);
}

void tx_store(const void *start, size_t size) {
    uintptr_t low = (uintptr_t)start & -(uintptr_t)LINE;
    uintptr_t high = ((uintptr_t)start + size + LINE - 1) & -(uintptr_t)LINE;
    if (!hold(&stored, low, high))
        append(&stored, low, high);
}

void tx_free(void *block, size_t size) {
    need_room(frees < MOST, "a transaction");
    freed[frees].block = block;
    freed[frees++].size = size;
}

/* By insertion: there are few, and many come in their order. */
static void sort(struct ranges *ranges) {
    for (size_t i = 1; i < ranges->count; i++) {
        struct range range = ranges->at[i];
        size_t j = i;
        for (; j > 0 && ranges->at[j - 1].low > range.low; j--)
            ranges->at[j] = ranges->at[j - 1];
        ranges->at[j] = range;
    }
}

/* Every line that was changed, once. */
static void flush_stored(void) {
    sort(&stored);
    for (size_t i = 0, next; i < stored.count; i = next) {
        struct range range = stored.at[i];
        for (next = i + 1; next < stored.count && stored.at[next].low <= range.high; next++)
            if (stored.at[next].high > range.high)
                range.high = stored.at[next].high;
        FLUSH((const void *)range.low, range.high - range.low); // HERE tx-unfenced
        if (BUG(tx_flushed_twice))
            FLUSH((const void *)range.low, range.high - range.low); // HERE tx-flushed-twice
    }
}

void tx_end(void) {
    if (depth == 0 || --depth > 0)
        return;
    flush_stored();
    if (!BUG(tx_unfenced))
        FENCE();
    if (pool->log.used) {
        pool->log.used = 0;
        persist(&pool->log.used, sizeof pool->log.used);
    }
    while (frees > 0) {
        frees--;
        pool_free(freed[frees].block, freed[frees].size);
    }
    saved.count = stored.count = 0;
}

/* The newest entry first: what was logged twice gets back what it was at the beginning. */
bool tx_recover(void) {
    static size_t at[LOG_SIZE / LINE];
    size_t count = 0;
    bool any = pool->log.used > 0;
    for (size_t next = 0; next < pool->log.used; count++) {
        at[count] = next;
        next += size_in_log(((struct entry *)(pool->log.entries + next))->size);
    }
    while (count > 0) {
        const struct entry *entry = (struct entry *)(pool->log.entries + at[--count]);
        memcpy((void *)(uintptr_t)entry->address, entry->old, entry->size);
        flush((void *)(uintptr_t)entry->address, entry->size);
    }
    fence();
    pool->log.used = 0;
    persist(&pool->log.used, sizeof pool->log.used);
    return any;
}
