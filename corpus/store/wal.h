/* The write-ahead log: one file of records, one record for each batch.
 *
 *     record 1      magic, number of the file, sequence of the first change to come
 *     record 2 ...  sequence of the batch's first change, count of changes, changes
 *
 * Logs continue each other: sequences have no gap, inside a log and from one log to the next. A log is synced
 * to its end before its successor is made, so only the last log may be torn. */
#pragma once

#include "batch.h"

struct wal {
    int dir;
    int fd;
    uint64_t number;
    uint64_t size;
    uint64_t synced; /* so much of it was durable after the last sync */
};

/* What replaying found. */
struct replayed {
    uint64_t end;    /* up to here the log is whole */
    uint64_t size;   /* of the file; more than `end` if the rest is torn */
    uint64_t next;   /* the sequence that comes next */
    bool has_header; /* without, nothing else is there either */
};

typedef void replay_function(void *context, const struct entry *entry);

/* Makes a new log with a durable name. */
void wal_create(struct wal *log, int dir, uint64_t number, uint64_t first_sequence);

/* How long a batch's record is. */
uint64_t wal_record_size(const struct batch *batch);

/* Writes a batch, without a sync. */
void wal_append(struct wal *log, uint64_t sequence, const struct batch *batch);
void wal_close(struct wal *log);

/* Whether there is anything that a sync would make durable. */
bool wal_is_dirty(const struct wal *log);

/* Visits all changes in order, up to the end or to what is torn; `next` is the sequence that must come first.
 */
struct replayed wal_replay(int dir, uint64_t number, uint64_t next, replay_function *visit, void *context);

/* Opens the last log to go on where it is whole: cuts off what is torn, writes the header anew if it was. */
void wal_reopen(struct wal *log, int dir, uint64_t number, const struct replayed *found);
