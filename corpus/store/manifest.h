/* The manifest: which tables make up the store, as a log of edits, and CURRENT, which names the manifest that
 * counts.
 *
 * An edit is one record: it happens as a whole or not at all. When a manifest has become long, a new one
 * starts with all there is as its first edit, and CURRENT is replaced by rename. */
#pragma once

#include "bytes.h"

#include <stdbool.h>

struct table;

struct table_info {
    uint64_t number;
    uint32_t level; /* 0: flushed, ranges overlap; 1: compacted, ranges do not overlap */
    struct bytes smallest;
    struct bytes largest;
    struct table *table; /* once it is open */
};

/* What the store is made of. */
struct version {
    struct table_info *tables; /* older ones first */
    size_t count;
    uint64_t log_number;    /* logs before this one are in tables */
    uint64_t last_sequence; /* changes up to this one are in tables */
    uint64_t next_file;     /* numbers from here on are free */
};

/* What changes from one version to the next. The numbers of the version are replaced by those of the edit. */
struct edit {
    struct table_info *added; /* their keys are copied */
    size_t added_count;
    const uint64_t *removed;
    size_t removed_count;
    uint64_t log_number;
    uint64_t last_sequence;
};

struct manifest {
    int dir;
    int fd;
    uint64_t number;
    uint64_t size;
    uint64_t limit; /* when a new one is started */
};

/* Makes the first manifest of a new store. */
void manifest_create(struct manifest *manifest, int dir, uint64_t limit, struct version *version);

/* Reads the manifest that CURRENT names, and goes on with it. */
void manifest_recover(struct manifest *manifest, int dir, uint64_t limit, struct version *version);

/* An edit has two steps: it is written, then made durable and applied. Before the second has returned,
 * nothing that the old version needs may be deleted. */
void manifest_write(struct manifest *manifest, const struct version *version, const struct edit *edit);
void manifest_commit(struct manifest *manifest, struct version *version, const struct edit *edit);
void manifest_close(struct manifest *manifest);

const struct table_info *version_find(const struct version *version, uint64_t number);
size_t version_count(const struct version *version, uint32_t level);
void version_free(struct version *version);
