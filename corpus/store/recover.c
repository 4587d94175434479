/* Opening a store after whatever happened to it. */
#define _GNU_SOURCE
#include "env.h"
#include "fault.h"
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Numbers that are taken: files may have been made after the last edit. */
static void skip_taken_numbers(struct version *version, const struct listing *listing) {
    if (has_bug(BUG_NUMBER_REUSED))
        return;
    for (size_t i = 0; i < listing->count; i++)
        if (listing->files[i].number >= version->next_file)
            version->next_file = listing->files[i].number + 1;
}

static bool is_orphan(const struct store *store, const struct file_name *file) {
    switch (file->kind) {
    case FILE_LOG:
        return file->number < store->version.log_number;
    case FILE_TABLE:
        return version_find(&store->version, file->number) == NULL;
    case FILE_MANIFEST:
        return file->number != store->manifest.number;
    case FILE_TEMPORARY:
        return true;
    default:
        return false;
    }
}

/* Deletes what an interrupted flush, compaction or change of manifests has left. If a deletion is lost, the
 * next recovery does it again. */
static void delete_orphans(const struct store *store, const struct listing *listing) {
    for (size_t i = 0; i < listing->count; i++)
        if (is_orphan(store, &listing->files[i]))
            delete_file(store->dir, listing->files[i].name);
}

static void replay_into_memtable(void *context, const struct entry *entry) {
    struct store *store = context;
    memtable_add(&store->memtable, entry);
}

/* Replays the logs that are not in tables, and goes on in the last of them. */
static void replay_logs(struct store *store, const struct listing *listing) {
    struct replayed found = {0};
    uint64_t number = 0;
    store->last = store->version.last_sequence;
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->files[i].kind != FILE_LOG || listing->files[i].number < store->version.log_number)
            continue;
        must(number == 0 || (found.end == found.size && found.has_header),
             "log %" PRIu64 " is damaged at %" PRIu64 ", but it has a successor", number, found.end);
        if (number != 0)
            remember_old_log(store, number);
        number = listing->files[i].number;
        found = wal_replay(store->dir, number, store->last + 1, replay_into_memtable, store);
        store->last = found.next - 1;
    }
    if (number == 0) {
        must(store->version.log_number == 0, "log %" PRIu64 ", which the manifest names, is missing",
             store->version.log_number);
        wal_create(&store->log, store->dir, store->version.next_file++, store->last + 1);
        return;
    }
    wal_reopen(&store->log, store->dir, number, &found);
    must(SYNC_DATA(store->log.fd, "recover-log"), "sync of log %" PRIu64 ": %s", number, strerror(errno));
    store->log.synced = store->log.size;
}

void recover(struct store *store) {
    manifest_recover(&store->manifest, store->dir, store->options.manifest_limit, &store->version);
    struct listing listing = list_folder(store->dir);
    skip_taken_numbers(&store->version, &listing);
    delete_orphans(store, &listing);
    open_tables(store);
    replay_logs(store, &listing);
    store->durable = store->last;
    listing_free(&listing);
}
