/* What happens to a mapped file as a whole: it is synced, cut off or removed; and at the end of the trace,
 * what was never made persistent.
 */
#include "lint/lint.h"

static uint64_t offset_of(const struct lint *lint, const struct lint_dirty *dirty) {
    return (lint->lines.slots[dirty->slot].key & (((uint64_t)1 << LINT_LINE_BITS) - 1)) << 6;
}

static void sync_line(struct lint *lint, struct lint_dirty *dirty, uint32_t stack) {
    struct lint_line *line = &lint->lines.slots[dirty->slot];
    pc_lint_overwrites_end(lint, dirty, pc_lint_own(lint, stack));
    line->written_back = stack;
    line->state = (line->state | LINT_FLUSHED) & ~LINT_BYPASSED;
    pc_lint_persist(lint, dirty, LINT_ALL_BYTES);
}

static void forget_line(struct lint *lint, struct lint_dirty *dirty, uint32_t stack) {
    pc_lint_dirty_drop(lint, dirty);
}

/* Does something to each dirty line between two offsets, by whichever way is shorter: along the dirty lines
 * of the file, or along the range. */
static bool each_dirty(struct lint *lint, uint32_t file, uint64_t from, uint64_t to,
                       void (*act)(struct lint *, struct lint_dirty *, uint32_t), uint32_t stack) {
    const struct lint_file *owner = &lint->files[file];
    bool any = false;
    if (owner->dirty_count == 0 || from >= to) {
        return false;
    }
    if ((to - from) / 64 > owner->dirty_count) {
        for (uint32_t number = owner->dirty, next; number != 0; number = next) {
            struct lint_dirty *dirty = pc_lint_dirty(&lint->lines, number);
            next = dirty->next;
            if (offset_of(lint, dirty) + 64 > from && offset_of(lint, dirty) < to) {
                act(lint, dirty, stack);
                any = true;
            }
        }
        return any;
    }
    for (uint64_t offset = from & ~(uint64_t)63; offset < to; offset += 64) {
        const struct lint_line *line = pc_lint_line_find(&lint->lines, pc_lint_key(file, offset));
        if (line != NULL && (line->state & LINT_DIRTY) != 0) {
            act(lint, pc_lint_dirty_of(lint, line), stack);
            any = true;
        }
    }
    return any;
}

bool pc_lint_sync(struct lint *lint, uint32_t file, uint64_t from, uint64_t to, uint32_t stack) {
    struct lint_file *synced = &lint->files[file];
    if (synced->stores != 0) {
        synced->synced = 1;
    }
    bool stored = lint->eadr && synced->stored; /* a sync that other machines need is not for nothing */
    synced->stored = 0;
    return each_dirty(lint, file, from, to, sync_line, stack) || stored;
}

void pc_lint_forget(struct lint *lint, uint32_t file, uint64_t from, uint64_t to) {
    each_dirty(lint, file, from, to, forget_line, 0);
}

/* The end */

/* Counts each word of a line once for everybody who stored to it. */
static void found_unpersisted(struct lint *lint, struct lint_dirty *dirty) {
    const struct lint_line *line = &lint->lines.slots[dirty->slot];
    uint64_t sent = 0;
    for (uint32_t i = 0; i < dirty->pending_count; i++) {
        sent |= pc_lint_pending(dirty, i)->bytes;
    }
    for (unsigned word = 0; word < 8; word++) {
        uint64_t left = dirty->bytes >> (8 * word) & 0xff;
        while (left != 0) {
            unsigned byte = 8 * word + (unsigned)__builtin_ctzll(left);
            uint32_t stack = dirty->stack[byte];
            bool is_sent = (sent >> byte & 1) != 0;
            for (unsigned i = 0; i < 8; i++) { /* the same store, or one like it */
                unsigned other = 8 * word + i;
                if (dirty->stack[other] == stack && ((sent >> other & 1) != 0) == is_sent) {
                    left &= ~((uint64_t)1 << i);
                }
            }
            enum lint_pattern pattern = is_sent                             ? LINT_UNFENCED
                                        : (line->state & LINT_FLUSHED) != 0 ? LINT_UNFLUSHED
                                                                            : LINT_TRANSIENT;
            if (pc_lint_own(lint, stack)) {
                pc_lint_found(lint, pattern, dirty->file, stack, line->written_back, 0, 0);
            }
        }
    }
}

void pc_lint_end(struct lint *lint) {
    for (uint32_t number = 1; number <= lint->lines.dirty_used; number++) {
        struct lint_dirty *dirty = pc_lint_dirty(&lint->lines, number);
        if (dirty->bytes != 0 && !lint->files[dirty->file].gone) {
            found_unpersisted(lint, dirty);
        }
    }
}
