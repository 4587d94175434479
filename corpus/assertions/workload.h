/* Random operations on a map, compared with a model of what it must hold. */
#pragma once

#include "maps.h"

#include <stddef.h>

struct workload {
    uint64_t operations, item_size, seed;
    uint64_t keys;       /* different ones; 0: every operation inserts a new one */
    uint64_t trace;      /* operations between two pc_start; 0: all */
    uint64_t stop_after; /* operations, then end in the middle of a transaction; 0: never */
    bool tell;           /* say when each operation is done */
};

void run_workload(const struct map_type *type, const struct workload *workload);

/* After a run that stopped: whether the map holds exactly what its operations made. */
void check_workload(const struct map_type *type, const struct workload *workload);

/* After a power cut, when so many operations were told to be done: the next one may be, too. */
void judge_workload(const struct map_type *type, const struct workload *workload, uint64_t done);
