/* Moving the memtable into a table, after which its logs can go. */
#define _GNU_SOURCE
#include "env.h"
#include "fault.h"
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Makes a durable table of the memtable. */
static void write_table(struct store *store, struct table_builder *builder) {
    table_create(builder, store->dir, store->version.next_file++, store->options.block_limit);
    for (const struct node *node = NULL; (node = memtable_next(&store->memtable, node)) != NULL;) {
        struct entry entry = memtable_entry(node);
        table_add(builder, &entry);
    }
    table_finish_data(builder);
    if (!has_bug(BUG_FOOTER_AFTER_SYNC))
        table_finish_index(builder);
    must(SYNC_DATA(builder->fd, "flush-table"), "sync of table %" PRIu64 ": %s", builder->number,
         strerror(errno));
    if (has_bug(BUG_FOOTER_AFTER_SYNC))
        table_finish_index(builder);
    must(SYNC_FOLDER(store->dir, "flush-table-name"), "sync of the folder: %s", strerror(errno));
}

static void delete_old_logs(struct store *store) {
    char name[NAME_SIZE];
    for (size_t i = 0; i < store->old_log_count; i++)
        delete_file(store->dir, name_file(name, FILE_LOG, store->old_logs[i]));
    store->old_log_count = 0;
}

void store_flush(struct store *store) {
    if (memtable_next(&store->memtable, NULL) == NULL)
        return;
    if (wal_is_dirty(&store->log))
        must(SYNC_DATA(store->log.fd, "rotate-log-to-flush"), "sync of log %" PRIu64 ": %s",
             store->log.number, strerror(errno));
    switch_log(store);

    struct table_builder builder;
    write_table(store, &builder);
    struct table_info added = {
        .number = builder.number, .smallest = builder.smallest, .largest = builder.largest};
    struct edit edit = {
        .added = &added,
        .added_count = 1,
        .log_number = store->log.number,
        .last_sequence = store->last,
    };
    manifest_write(&store->manifest, &store->version, &edit);
    if (has_bug(BUG_LOG_DELETED_EARLY))
        delete_old_logs(store);
    manifest_commit(&store->manifest, &store->version, &edit);
    table_close_builder(&builder);
    delete_old_logs(store);

    open_tables(store);
    memtable_clear(&store->memtable);
    if (version_count(&store->version, 0) >= store->options.level0_limit)
        compact(store);
}
