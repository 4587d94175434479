/* An embedded key-value store: a log, a memtable, sorted tables in two levels, a manifest.
 *
 * One process, one thread. Writes become durable at the next store_sync, all since the last one together
 * (group commit). What is in the store after a crash is always what the first N changes made, with N at least
 * what store_sync returned last, and no batch in part. */
#pragma once

#include "batch.h"
#include "manifest.h"
#include "memtable.h"
#include "merge.h"
#include "wal.h"

struct store_options {
    uint64_t memtable_limit; /* bytes; then it is flushed into a table */
    uint64_t log_limit;      /* bytes; then the next log is started */
    uint64_t table_limit;    /* bytes; then a compaction starts the next table */
    uint64_t block_limit;    /* bytes; then a table starts the next block */
    uint64_t manifest_limit; /* bytes; then the next manifest is started */
    uint64_t level0_limit;   /* tables; then they are compacted */
};

struct store {
    struct store_options options;
    int dir;
    int lock;
    struct version version;
    struct manifest manifest;
    struct memtable memtable;
    struct wal log;     /* the last one */
    uint64_t *old_logs; /* those before it that are not in tables yet */
    size_t old_log_count;
    uint64_t last;    /* sequence of the last change */
    uint64_t durable; /* sequence of the last change that is known to be durable */
};

extern const struct store_options default_options;

/* Opens a store and recovers it, or makes a new one. */
void store_open(struct store *store, const char *path, const struct store_options *options);

/* Ends the use of a store: in good order, with nothing left to replay, or as if the process had been killed.
 */
void store_close(struct store *store);
void store_abandon(struct store *store);

/* Makes the changes of a batch. They are durable once store_sync has returned their sequence number, or a
 * larger one. */
void store_write(struct store *store, const struct batch *batch);
uint64_t store_sync(struct store *store);

/* The value of a key, in `value`; false if there is none. */
bool store_get(struct store *store, struct slice key, struct bytes *value);

/* Starts reading all keys in order; take entries with merge_next, end with merge_free. */
void store_scan(struct store *store, struct merge *merge);

/* Moves the memtable into a table now. */
void store_flush(struct store *store);

/* Inside, from file to file. */
void recover(struct store *store);
void compact(struct store *store);
void switch_log(struct store *store);
void open_tables(struct store *store); /* those of the version that are not open yet */
void remember_old_log(struct store *store, uint64_t number);
