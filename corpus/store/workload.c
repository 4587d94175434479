/* A deterministic workload: the same seed and settings always make the same batches. */
#include "workload.h"

#include "env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HOT_PART = 8,
    HOT_STEP = 64
}; /* most changes go to one of so many parts of the keys, which moves on and wraps */

const struct workload default_workload = {
    .keys = 2000,
    .value = 64,
    .sync_every = 8,
    .jumbo_every = 80000,
    .jumbo_size = 220,
};

static uint64_t splitmix(uint64_t *state) {
    uint64_t value = *state += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

static uint64_t below(uint64_t *state, uint64_t limit) {
    return splitmix(state) % limit;
}

void plan_start(struct plan *plan, const struct workload *workload) {
    *plan = (struct plan){.workload = *workload, .random = workload->seed, .next = 1};
}

/* Half of the batches are single changes. */
static uint64_t batch_size(struct plan *plan, bool after_jumbo_mark) {
    uint64_t sort = below(&plan->random, 8);
    if (after_jumbo_mark)
        return plan->workload.jumbo_size;
    return sort < 4 ? 1 : sort < 7 ? 2 + below(&plan->random, 3) : 5 + below(&plan->random, 8);
}

static uint64_t choose_key(struct plan *plan, uint64_t sequence) {
    uint64_t keys = plan->workload.keys;
    if (below(&plan->random, 4) == 0)
        return below(&plan->random, keys);
    uint64_t hot = keys / HOT_PART + 1;
    return (sequence / HOT_STEP * (hot / 2 + 1) + below(&plan->random, hot)) % keys;
}

bool plan_next(struct plan *plan, struct step *step) {
    const struct workload *workload = &plan->workload;
    uint64_t done = plan->next - 1;
    if (done >= workload->changes)
        return false;
    uint64_t previous = step->first > 0 && done > 0 ? step->first - 1 : 0;
    bool jumbo = workload->jumbo_every > 0 && done / workload->jumbo_every > previous / workload->jumbo_every;
    step->count = batch_size(plan, jumbo);
    if (step->count > workload->changes - done)
        step->count = workload->changes - done;
    step->first = plan->next;
    step->sync = below(&plan->random, workload->sync_every) == 0 || done + step->count == workload->changes;
    if (step->count > step->room) {
        step->room = step->count;
        step->changes = realloc(step->changes, step->room * sizeof *step->changes);
        must(step->changes != NULL, "out of memory");
    }
    for (uint64_t i = 0; i < step->count; i++) {
        step->changes[i].key = choose_key(plan, step->first + i);
        step->changes[i].is_put = below(&plan->random, 5) != 0;
    }
    plan->next += step->count;
    return true;
}

void planned_key(struct bytes *into, uint64_t key) {
    char text[32];
    snprintf(text, sizeof text, "key%06" PRIu64, key);
    bytes_set(into, slice_of(text));
}

void planned_value(struct bytes *into, const struct workload *workload, uint64_t sequence) {
    char text[32];
    uint64_t random = workload->seed ^ (sequence << 20);
    uint64_t length = below(&random, workload->value + 1);
    snprintf(text, sizeof text, "change %" PRIu64 " ", sequence);
    bytes_set(into, slice_of(text));
    while (into->length < length) {
        uint64_t bits = splitmix(&random);
        for (int i = 0; i < 12 && into->length < length; i++, bits >>= 5)
            bytes_add_u8(into, (uint8_t)("abcdefghijklmnopqrstuvwxyz012345"[bits & 31]));
    }
}

static const char line_format[] =
    "workload seed=%" PRIu64 " changes=%" PRIu64 " keys=%" PRIu64 " value=%" PRIu64 " sync-every=%" PRIu64
    " jumbo-every=%" PRIu64 " jumbo-size=%" PRIu64 "\n";
static const char line_scan_format[] =
    "workload seed=%" SCNu64 " changes=%" SCNu64 " keys=%" SCNu64 " value=%" SCNu64 " sync-every=%" SCNu64
    " jumbo-every=%" SCNu64 " jumbo-size=%" SCNu64 "\n";

void workload_print(char *line, size_t size, const struct workload *workload) {
    snprintf(line, size, line_format, workload->seed, workload->changes, workload->keys, workload->value,
             workload->sync_every, workload->jumbo_every, workload->jumbo_size);
}

bool workload_scan(const char *line, struct workload *workload) {
    return sscanf(line, line_scan_format, &workload->seed, &workload->changes, &workload->keys,
                  &workload->value, &workload->sync_every, &workload->jumbo_every,
                  &workload->jumbo_size) == 7;
}
