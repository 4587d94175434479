/* Changes of pools in a log that is reclaimed: which of their bytes are versions, and which of those are
 * kept. */
#include "guard/reclaim.h"

enum { WORD = 8, BRIDGED = sizeof(struct pc_guard_record), FILL_AT_ONCE = 1 << 16 };

/* What a base shall be; of a fill all of it, in parts. */
static bool fold(struct reclaim *reclaim, struct pc_guard_record part, const char *data) {
    char same[FILL_AT_ONCE];
    bool is_fill = part.kind == PC_GUARD_FILL;
    uint64_t left = part.size, most = is_fill ? sizeof same : part.size;
    if (is_fill)
        memset(same, *data, left < sizeof same ? left : sizeof same);
    part.kind = PC_GUARD_BASE;
    for (; left > 0; left -= part.size, part.offset += part.size) {
        part.size = (uint32_t)(left < most ? left : most);
        if (!pc_guard_put(&reclaim->output, &part, is_fill ? same : data))
            return false;
    }
    return true;
}

/* A part of a change, all of whose bytes have the same fate. */
static bool settle(struct reclaim *reclaim, struct entry *entry, uint64_t from, uint64_t size,
                   enum pc_fate fate) {
    struct pc_guard_record part = entry->record;
    const char *data = entry->data + (part.kind == PC_GUARD_FILL ? 0 : from);
    part.offset += from;
    part.size = (uint32_t)size;
    if (fate == PC_KEPT) {
        entry->kept = true;
        return (!part.transaction || pc_map_put(&reclaim->transactions, part.transaction, 1)) &&
               pc_guard_put(&reclaim->output, &part, data);
    }
    if (fate != PC_VOID && part.sequence > reclaim->folded)
        reclaim->folded = part.sequence;
    return fate != PC_FOLDED || fold(reclaim, part, data);
}

/* Where in a change the bytes end that have the effect of those before them: it is looked for once, however
 * many parts with fates of their own there are. */
struct run {
    uint64_t end;
    bool effective;
};

/* The bytes of a change, from one on, that have the same fate as that one; 0 without memory. */
static uint64_t next_part(struct reclaim *reclaim, const struct entry *entry, uint64_t from,
                          struct run *effects, enum pc_fate *fate) {
    struct pc_guard_record record = entry->record;
    if (from >= effects->end)
        effects->end =
            from + pc_effects_run(&reclaim->effects, entry->effects, from, record.size, &effects->effective);
    uint64_t size = effects->end - from;
    *fate = PC_VOID;
    return effects->effective
               ? pc_versions_add(&reclaim->versions, record.pool, record.offset + from, size, fate)
               : size;
}

/* Bytes of a change that are no version can be kept with others all the same if they say what the version
 * before them says, and that one is kept, too, or in the base: so few bytes that a further record would take
 * more room, and the rest of a word, which is read as one. */
static bool can_be_kept(struct reclaim *reclaim, const struct entry *entry, uint64_t from, uint64_t until) {
    struct pc_guard_record record = entry->record;
    return pc_versions_reach(&reclaim->versions, record.pool, record.offset + from, until - from);
}

/* Where the word that holds the byte before `at` ends, or `most`. */
static uint64_t end_of_word(const struct entry *entry, uint64_t at, uint64_t most) {
    uint64_t offset = entry->record.offset, end = (offset + at + WORD - 1) / WORD * WORD - offset;
    return end < most ? end : most;
}

/* Where the word that holds a byte starts, or `least`. */
static uint64_t start_of_word(const struct entry *entry, uint64_t at, uint64_t least) {
    uint64_t before = (entry->record.offset + at) % WORD;
    return before < at - least ? at - before : least;
}

bool pc_reclaim_change(struct reclaim *reclaim, struct entry *entry) {
    if (stays_whole(reclaim, entry))
        return keep(reclaim, entry);
    enum pc_fate fate = PC_VOID, next;
    struct run effects = {0};
    uint64_t from = 0, until = 0, all = entry->record.size;
    for (uint64_t at = 0, size; at < all; at += size) {
        size = next_part(reclaim, entry, at, &effects, &next);
        if (!size)
            return false;
        if (next == PC_VOID && fate == PC_KEPT) {
            uint64_t end = end_of_word(entry, at, at + size);
            until = can_be_kept(reclaim, entry, at, end) ? end : until;
            if (size <= BRIDGED && can_be_kept(reclaim, entry, at, at + size))
                continue;
        }
        if (next != fate) {
            if (!settle(reclaim, entry, from, until - from, fate))
                return false;
            uint64_t start = fate == PC_VOID && next == PC_KEPT ? start_of_word(entry, at, from) : at;
            from = next == PC_VOID ? until : can_be_kept(reclaim, entry, start, at) ? start : at;
        }
        fate = next;
        until = at + size;
    }
    return settle(reclaim, entry, from, until - from, fate);
}

bool pc_reclaim_base(struct reclaim *reclaim, const struct entry *entry) {
    struct pc_guard_record record = entry->record;
    if (record.kind != PC_GUARD_BASE || stays_whole(reclaim, entry))
        return true;
    int base = reclaim->bases[record.pool];
    reclaim->based += record.size;
    if (reclaim->based > PC_AT_ONCE) {
        pc_write_back(base);
        reclaim->based = 0;
    }
    return pc_write_all(base, entry->data, record.size, (off_t)record.offset);
}

bool pc_reclaim_see(struct reclaim *reclaim, struct entry *entry) {
    struct pc_guard_record record = entry->record;
    if (stays_whole(reclaim, entry))
        return true;
    if (record.kind == PC_GUARD_FREE)
        return pc_effects_forget(&reclaim->effects, &record);
    if (!is_change(entry))
        return true;
    uint64_t effects = pc_effects_add(&reclaim->effects, &record, entry->data);
    entry->effects = effects;
    return effects != UINT64_MAX;
}
