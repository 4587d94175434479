/* What the parts of a reclaim share: see guard/reclaim.c. */
#ifndef POWERCUT_GUARD_RECLAIM_H
#define POWERCUT_GUARD_RECLAIM_H

#include "guard/effects.h"
#include "guard/output.h"
#include "guard/versions.h"

#include <string.h>

enum { PC_POOLS = 16 };

struct entry {
    struct pc_guard_record record;
    const char *data;
    uint64_t effects : 63; /* of a change: where they are told */
    uint64_t kept : 1;
};

struct reclaim {
    struct entry *entries; /* by sequence number */
    size_t count, room;
    struct pc_effects effects;
    struct pc_versions versions;
    struct pc_map transactions; /* of changes that are kept */
    struct pc_map places;       /* how many allocations, or frees, of a place were met */
    uint64_t bound, folded;
    uint64_t based; /* bytes written into bases since the last one was written back */
    struct pc_guard_output output;
    int bases[PC_POOLS]; /* a pool without a base stays as it is */
};

static inline bool is_change(const struct entry *entry) {
    uint8_t kind = entry->record.kind;
    return kind == PC_GUARD_UPDATE || kind == PC_GUARD_FILL || kind == PC_GUARD_FOUND;
}

static inline bool keep(struct reclaim *reclaim, struct entry *entry) {
    entry->kept = true;
    return pc_guard_put(&reclaim->output, &entry->record, entry->data);
}

/* Records that count as they are: they came too late, or nothing is known of their pool. */
static inline bool stays_whole(const struct reclaim *reclaim, const struct entry *entry) {
    const struct pc_guard_record *record = &entry->record;
    return record->sequence >= reclaim->bound || reclaim->bases[record->pool] < 0 ||
           record->offset > (uint64_t)INT64_MAX - record->size;
}

/* guard/changes.c. All of them: false without memory, or if a file could not be written. */

/* Writes into a base what a record says that it shall be. */
bool pc_reclaim_base(struct reclaim *reclaim, const struct entry *entry);
/* In the order in which it happened: what each change did. */
bool pc_reclaim_see(struct reclaim *reclaim, struct entry *entry);
/* In the opposite order: what of a change is kept. */
bool pc_reclaim_change(struct reclaim *reclaim, struct entry *entry);

/* guard/notes.c: what of all that is no change is kept, when it is known which changes are. */
bool pc_reclaim_notes(struct reclaim *reclaim);

#endif
