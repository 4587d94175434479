/* A deterministic workload: the same seed and settings always make the same batches, so that a check can tell
 * what the store must hold after any number of changes. Change number N has sequence number N. */
#pragma once

#include "batch.h"

#include <stdbool.h>

struct workload {
    uint64_t seed;
    uint64_t changes;     /* how many in all */
    uint64_t keys;        /* how many different keys */
    uint64_t value;       /* the longest value, in bytes */
    uint64_t sync_every;  /* one batch in so many asks to be durable */
    uint64_t jumbo_every; /* changes; each time so many are done, a batch of jumbo_size changes follows */
    uint64_t jumbo_size;
};

struct planned_change {
    uint64_t key;
    bool is_put;
};

/* One batch of the workload. */
struct step {
    uint64_t first; /* sequence of its first change */
    uint64_t count;
    bool sync; /* the workload waits until it is durable */
    struct planned_change *changes;
    size_t room;
};

struct plan {
    struct workload workload;
    uint64_t random;
    uint64_t next; /* sequence of the next change */
};

extern const struct workload default_workload;

void plan_start(struct plan *plan, const struct workload *workload);
bool plan_next(struct plan *plan,
               struct step *step); /* false after the last; `step` is used again and again */

/* What a key is called, and the value that a change writes; both replace the content. */
void planned_key(struct bytes *into, uint64_t key);
void planned_value(struct bytes *into, const struct workload *workload, uint64_t sequence);

/* The workload as one line, which a run prints first and a check reads back. */
void workload_print(char *line, size_t size, const struct workload *workload);
bool workload_scan(const char *line, struct workload *workload);
