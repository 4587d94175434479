/* Records of a log that is reclaimed which are no changes. Kept is what tells something about what is: pools;
 * programs and their modules if a record of their run is kept, and the last one; commits if a change of their
 * transaction is kept; of each place as many allocations and frees as there are versions of a byte; when each
 * thread last waited. */
#include "guard/reclaim.h"

/* For each thread of a run, that it has waited, and when last: what it wrote before has come true. Is the
 * record that says so gone, an empty commit says it. */
static bool keep_fences(struct reclaim *reclaim, size_t first, size_t end) {
    struct pc_map threads = {0};
    bool good = true;
    for (size_t i = end; good && i-- > first;) {
        struct pc_guard_record record = reclaim->entries[i].record;
        if (!(record.flags & PC_GUARD_FENCED) || pc_map_get(&threads, record.thread))
            continue;
        struct pc_guard_record mark = {.sequence = record.sequence,
                                       .time = record.time,
                                       .thread = record.thread,
                                       .kind = PC_GUARD_COMMIT,
                                       .flags = PC_GUARD_FENCED};
        good = pc_map_put(&threads, record.thread, 1) &&
               (reclaim->entries[i].kept || pc_guard_put(&reclaim->output, &mark, ""));
    }
    free(threads.slots);
    return good;
}

/* A program and its modules: they tell what the sites of its records mean. */
static bool keep_run(struct reclaim *reclaim, size_t first, size_t end) {
    bool needed = end == reclaim->count;
    for (size_t i = first; i < end && !needed; i++)
        needed = reclaim->entries[i].kept;
    for (size_t i = first; i < end && needed; i++) {
        struct entry *entry = &reclaim->entries[i];
        uint8_t kind = entry->record.kind;
        if ((kind == PC_GUARD_START || kind == PC_GUARD_MODULE) && !keep(reclaim, entry))
            return false;
    }
    return !needed || keep_fences(reclaim, first, end);
}

static bool keep_object(struct reclaim *reclaim, struct entry *entry) {
    struct pc_guard_record record = entry->record;
    uint64_t place = record.offset << 5 | (uint64_t)record.pool << 1 | (record.kind == PC_GUARD_FREE);
    uint32_t met = pc_map_get(&reclaim->places, place);
    if (met >= reclaim->versions.most)
        return true;
    return pc_map_put(&reclaim->places, place, met + 1) && keep(reclaim, entry);
}

static bool keep_note(struct reclaim *reclaim, struct entry *entry) {
    struct pc_guard_record record = entry->record;
    switch (record.kind) {
    case PC_GUARD_POOL:
        return pc_guard_put(&reclaim->output, &record, entry->data);
    case PC_GUARD_BASE:
        return !stays_whole(reclaim, entry) || keep(reclaim, entry);
    case PC_GUARD_ALLOCATE:
    case PC_GUARD_FREE:
        return entry->record.sequence >= reclaim->bound ? keep(reclaim, entry) : keep_object(reclaim, entry);
    case PC_GUARD_COMMIT:
        return (entry->record.sequence < reclaim->bound &&
                !pc_map_get(&reclaim->transactions, record.transaction)) ||
               keep(reclaim, entry);
    default: /* with its run */
        return true;
    }
}

bool pc_reclaim_notes(struct reclaim *reclaim) {
    for (size_t i = reclaim->count, end = i; i-- > 0;) {
        struct entry *entry = &reclaim->entries[i];
        if (!is_change(entry) && !keep_note(reclaim, entry))
            return false;
        if (i == 0 || entry->record.kind == PC_GUARD_START) {
            if (!keep_run(reclaim, i, end))
                return false;
            end = i;
        }
    }
    return true;
}
