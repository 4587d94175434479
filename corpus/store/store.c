/* Opening, closing and reading the store. */
#define _GNU_SOURCE
#include "store.h"

#include "env.h"
#include "fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct store_options default_options = {
    .memtable_limit = 16 << 10,
    .log_limit = 8 << 10,
    .table_limit = 32 << 10,
    .block_limit = 4 << 10,
    .manifest_limit = 8 << 10,
    .level0_limit = 4,
};

/* Makes a new store. Before CURRENT is there, nothing but a manifest can be left of an earlier attempt. */
static void create_store(struct store *store) {
    struct listing listing = list_folder(store->dir);
    for (size_t i = 0; i < listing.count; i++) {
        const struct file_name *file = &listing.files[i];
        must(file->kind != FILE_LOG && file->kind != FILE_TABLE, "CURRENT is missing, but %s is there",
             file->name);
        if (file->kind == FILE_MANIFEST || file->kind == FILE_TEMPORARY)
            delete_file(store->dir, file->name);
    }
    listing_free(&listing);
    store->version.next_file = 1;
    manifest_create(&store->manifest, store->dir, store->options.manifest_limit, &store->version);
    wal_create(&store->log, store->dir, store->version.next_file++, 1);
}

void store_open(struct store *store, const char *path, const struct store_options *options) {
    *store = (struct store){.options = *options, .dir = open_folder(path)};
    store->lock = lock_folder(store->dir);
    if (file_exists(store->dir, "CURRENT"))
        recover(store);
    else
        create_store(store);
}

void store_close(struct store *store) {
    store_flush(store);
    must(SYNC_DATA(store->log.fd, "close-log"), "sync of log %" PRIu64 ": %s", store->log.number,
         strerror(errno));
    must(SYNC_FOLDER(store->dir, "close-folder"), "sync of the folder: %s", strerror(errno));
    store_abandon(store);
}

void store_abandon(struct store *store) {
    wal_close(&store->log);
    manifest_close(&store->manifest);
    version_free(&store->version);
    memtable_clear(&store->memtable);
    free(store->old_logs);
    close(store->lock);
    close(store->dir);
}

void open_tables(struct store *store) {
    for (size_t i = 0; i < store->version.count; i++) {
        struct table_info *info = &store->version.tables[i];
        if (info->table == NULL)
            info->table = table_open(store->dir, info->number);
    }
}

void remember_old_log(struct store *store, uint64_t number) {
    store->old_logs = realloc(store->old_logs, (store->old_log_count + 1) * sizeof *store->old_logs);
    must(store->old_logs != NULL, "out of memory");
    store->old_logs[store->old_log_count++] = number;
}

/* The newest version of a key in the tables. */
static bool get_from_tables(struct store *store, struct slice key, struct entry *newest,
                            struct bytes *block) {
    bool found = false;
    struct bytes other = {0};
    for (size_t i = 0; i < store->version.count; i++) {
        const struct table_info *info = &store->version.tables[i];
        struct entry entry;
        if (slice_compare(key, bytes_slice(&info->smallest)) < 0 ||
            slice_compare(key, bytes_slice(&info->largest)) > 0)
            continue;
        if (!table_get(info->table, key, &entry, &other) || (found && entry.sequence < newest->sequence))
            continue;
        struct bytes unused = *block; /* the entry points into `other`: that is the block to keep */
        *block = other;
        other = unused;
        *newest = entry;
        found = true;
    }
    bytes_free(&other);
    return found;
}

bool store_get(struct store *store, struct slice key, struct bytes *value) {
    struct entry entry;
    struct bytes block = {0};
    bool found = memtable_get(&store->memtable, key, &entry) || get_from_tables(store, key, &entry, &block);
    found = found && entry.kind == CHANGE_PUT;
    if (found)
        bytes_set(value, entry.value);
    bytes_free(&block);
    return found;
}

void store_scan(struct store *store, struct merge *merge) {
    merge_start(merge, &store->memtable, store->version.count);
    for (size_t i = 0; i < store->version.count; i++)
        merge_add_table(merge, store->version.tables[i].table);
}
