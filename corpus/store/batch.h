/* A batch: changes that become visible and durable together, each with its own sequence number. */
#pragma once

#include "bytes.h"

enum change_kind { CHANGE_DELETE = 0, CHANGE_PUT = 1 };

/* One version of one key. Deletions are kept as such (tombstones) until no older version can be left. */
struct entry {
    struct slice key;
    uint64_t sequence;
    enum change_kind kind;
    struct slice value; /* empty for a deletion */
};

struct batch {
    struct bytes changes;
    uint32_t count;
};

void batch_put(struct batch *batch, struct slice key, struct slice value);
void batch_delete(struct batch *batch, struct slice key);
void batch_clear(struct batch *batch);
void batch_free(struct batch *batch);

/* Entries as they stand in batches and in tables. */
void entry_encode(struct bytes *into, const struct entry *entry);
struct entry entry_decode(struct decoder *decoder);
