/* The write-ahead log: one file of records, one record for each batch. */
#define _GNU_SOURCE
#include "wal.h"

#include "env.h"
#include "fault.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

enum { BATCH_HEADER = 8 + 4 };
static const uint64_t log_magic = 0x31474f4c65726f74; /* "toreLOG1" */

static void write_record(struct wal *log, const struct bytes *content) {
    char name[NAME_SIZE];
    struct bytes record = {0};
    record_add(&record, log->number, bytes_slice(content));
    write_all(log->fd, bytes_slice(&record), name_file(name, FILE_LOG, log->number));
    log->size += record.length;
    bytes_free(&record);
}

static void write_header(struct wal *log, uint64_t first_sequence) {
    struct bytes content = {0};
    bytes_add_u64(&content, log_magic);
    bytes_add_u64(&content, log->number);
    bytes_add_u64(&content, first_sequence);
    write_record(log, &content);
    bytes_free(&content);
}

void wal_create(struct wal *log, int dir, uint64_t number, uint64_t first_sequence) {
    char name[NAME_SIZE];
    *log = (struct wal){dir, create_file(dir, name_file(name, FILE_LOG, number)), number, 0, 0};
    write_header(log, first_sequence);
    must(SYNC_FOLDER(dir, "log-name"), "sync of the folder: %s", strerror(errno));
}

uint64_t wal_record_size(const struct batch *batch) {
    return RECORD_HEADER + BATCH_HEADER + batch->changes.length;
}

static void write_batch(struct wal *log, uint64_t sequence, uint32_t count, struct slice changes) {
    struct bytes content = {0};
    bytes_add_u64(&content, sequence);
    bytes_add_u32(&content, count);
    bytes_add(&content, changes.data, changes.length);
    write_record(log, &content);
    bytes_free(&content);
}

/* BUG_SPLIT_BATCH: each change is a record, as if nobody had asked for all or nothing. */
static void write_changes_one_by_one(struct wal *log, uint64_t sequence, const struct batch *batch) {
    struct decoder decoder = decoder_of(bytes_slice(&batch->changes));
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint8_t *start = decoder.at;
        entry_decode(&decoder);
        write_batch(log, sequence + i, 1, (struct slice){start, (size_t)(decoder.at - start)});
    }
}

void wal_append(struct wal *log, uint64_t sequence, const struct batch *batch) {
    if (has_bug(BUG_SPLIT_BATCH) && batch->count > 1)
        write_changes_one_by_one(log, sequence, batch);
    else
        write_batch(log, sequence, batch->count, bytes_slice(&batch->changes));
}

bool wal_is_dirty(const struct wal *log) {
    return log->synced < log->size;
}

void wal_close(struct wal *log) {
    close(log->fd);
    log->fd = -1;
}

/* Whether a record is this log's header, and continues what came before it. */
static bool is_header(struct slice record, uint64_t number, uint64_t next) {
    struct decoder decoder = decoder_of(record);
    uint64_t magic = decode_u64(&decoder);
    uint64_t own_number = decode_u64(&decoder);
    uint64_t first = decode_u64(&decoder);
    if (decoder.bad || magic != log_magic || own_number != number)
        return false;
    must(first == next,
         "log %" PRIu64 " starts with change %" PRIu64 ", but the changes before it end at %" PRIu64, number,
         first, next - 1);
    return true;
}

/* Visits the changes of one record; false if it is none. */
static bool replay_batch(struct slice record, uint64_t number, uint64_t *next, replay_function *visit,
                         void *context) {
    struct decoder decoder = decoder_of(record);
    uint64_t sequence = decode_u64(&decoder);
    uint32_t count = decode_u32(&decoder);
    struct decoder dry = decoder; /* all or nothing: nothing is visited before all was decoded */
    for (uint32_t i = 0; i < count && !dry.bad; i++)
        entry_decode(&dry);
    if (dry.bad || dry.at != dry.end)
        return false;
    must(sequence == *next, "log %" PRIu64 ": change %" PRIu64 " follows on change %" PRIu64, number,
         sequence, *next - 1);
    for (uint32_t i = 0; i < count; i++) {
        struct entry entry = entry_decode(&decoder);
        entry.sequence += sequence;
        visit(context, &entry);
    }
    *next += count;
    return true;
}

struct replayed wal_replay(int dir, uint64_t number, uint64_t next, replay_function *visit, void *context) {
    char name[NAME_SIZE];
    struct bytes content = {0};
    read_file(dir, name_file(name, FILE_LOG, number), &content);
    struct decoder decoder = decoder_of(bytes_slice(&content));
    struct replayed found = {0, content.length, next, false};
    struct slice record;
    while (record_next(&decoder, number, &record) == RECORD_WHOLE) {
        if (found.has_header ? !replay_batch(record, number, &found.next, visit, context)
                             : !is_header(record, number, next))
            break;
        found.has_header = true;
        found.end = (uint64_t)(decoder.at - content.data);
    }
    bytes_free(&content);
    return found;
}

void wal_reopen(struct wal *log, int dir, uint64_t number, const struct replayed *found) {
    char name[NAME_SIZE];
    *log =
        (struct wal){dir, open_file(dir, name_file(name, FILE_LOG, number), O_RDWR), number, found->end, 0};
    if (has_bug(BUG_TORN_TAIL_KEPT))
        log->size = found->size;
    else if (found->size > found->end)
        must(ftruncate(log->fd, (off_t)found->end) == 0, "truncate %s: %s", name, strerror(errno));
    must(lseek(log->fd, (off_t)log->size, SEEK_SET) >= 0, "seek in %s: %s", name, strerror(errno));
    if (log->size == 0)
        write_header(log, found->next);
}
