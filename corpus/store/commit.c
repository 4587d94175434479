/* The way of a batch: into the log, into the memtable, and durable with its group. */
#define _GNU_SOURCE
#include "env.h"
#include "fault.h"
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { LARGE_GROUP = 1000 }; /* bytes; see BUG_LARGE_GROUP_UNSYNCED */

/* Goes on in a new log. The old one is durable to its end: callers see to that, and recovery takes it for
 * granted. */
void switch_log(struct store *store) {
    remember_old_log(store, store->log.number);
    wal_close(&store->log);
    store->durable = store->last;
    wal_create(&store->log, store->dir, store->version.next_file++, store->last + 1);
}

static void rotate_log(struct store *store) {
    struct wal *log = &store->log;
    if (wal_is_dirty(log))
        must(SYNC_DATA(log->fd, "rotate-log"), "sync of log %" PRIu64 ": %s", log->number, strerror(errno));
    switch_log(store);
}

/* A batch that is larger than a log gets one of its own: logs before and after it keep their size. */
static void append_jumbo(struct store *store, const struct batch *batch) {
    struct wal *log = &store->log;
    if (wal_is_dirty(log))
        must(SYNC_DATA(log->fd, "rotate-log-before-jumbo"), "sync of log %" PRIu64 ": %s", log->number,
             strerror(errno));
    switch_log(store);
    wal_append(log, store->last + 1, batch);
    store->last += batch->count;
    must(SYNC_DATA(log->fd, "rotate-log-after-jumbo"), "sync of log %" PRIu64 ": %s", log->number,
         strerror(errno));
    switch_log(store);
}

static void append(struct store *store, const struct batch *batch) {
    uint64_t size = wal_record_size(batch);
    if (size > store->options.log_limit) {
        append_jumbo(store, batch);
        return;
    }
    if (store->log.size + size > store->options.log_limit)
        rotate_log(store);
    wal_append(&store->log, store->last + 1, batch);
    store->last += batch->count;
}

void store_write(struct store *store, const struct batch *batch) {
    if (batch->count == 0)
        return;
    uint64_t first = store->last + 1;
    append(store, batch);
    struct decoder changes = decoder_of(bytes_slice(&batch->changes));
    for (uint32_t i = 0; i < batch->count; i++) {
        struct entry entry = entry_decode(&changes);
        entry.sequence += first;
        memtable_add(&store->memtable, &entry);
    }
    if (store->memtable.size >= store->options.memtable_limit)
        store_flush(store);
}

uint64_t store_sync(struct store *store) {
    struct wal *log = &store->log;
    bool large = log->size - log->synced > LARGE_GROUP;
    bool waiting = store->durable < store->last;
    if (waiting && !(has_bug(BUG_LARGE_GROUP_UNSYNCED) && large))
        must(SYNC_DATA(log->fd, "commit-log"), "sync of log %" PRIu64 ": %s", log->number, strerror(errno));
    if (waiting || has_bug(BUG_HEADER_UNSYNCED)) /* a new log's header waits for its first batch */
        log->synced = log->size;
    store->durable = store->last;
    return store->durable;
}
