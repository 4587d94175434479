/* What stores, flushes and fences do to cache lines, and the patterns of misuse they show.
 *
 * M numbers are those of states/memory_rules.py: what is persistent here is guaranteed there. Records inside
 * a library of persistent memory have their effect, but are never found at fault: the library knows what it
 * does, and what it writes back for the program (a transaction at its commit) the program need not.
 */
#include "lint/lint.h"

#include <string.h>

static struct lint_pending *pending_of(struct lint_dirty *dirty, uint32_t thread) {
    for (uint32_t i = 0; i < dirty->pending_count; i++) {
        if (pc_lint_pending(dirty, i)->thread == thread) {
            return pc_lint_pending(dirty, i);
        }
    }
    return NULL;
}

/* Bytes have become persistent, or were stored again, or are gone. */
static void take_away(struct lint_dirty *dirty, uint64_t bytes) {
    dirty->bytes &= ~bytes;
    dirty->cached &= ~bytes;
    dirty->settled &= ~bytes;
    for (uint32_t i = 0; i < dirty->pending_count; i++) {
        pc_lint_pending(dirty, i)->bytes &= ~bytes;
    }
}

void pc_lint_persist(struct lint *lint, struct lint_dirty *dirty, uint64_t bytes) {
    take_away(dirty, bytes);
    if (dirty->bytes == 0) {
        pc_lint_dirty_drop(lint, dirty);
    }
}

/* Room for one more line that a thread has sent; false without memory. Lines that are persistent by other
 * means leave the list first, or it would grow with the trace if a thread never fences. */
static bool has_room(struct lint *lint, struct lint_thread *thread) {
    uint32_t left = 0;
    if (thread->count < thread->room) {
        return true;
    }
    for (uint32_t i = 0; i < thread->count; i++) {
        struct lint_flushed flushed = thread->flushed[i];
        if (pc_lint_dirty(&lint->lines, flushed.dirty)->lifetime == flushed.lifetime) {
            thread->flushed[left++] = flushed;
        }
    }
    thread->count = left;
    if (2 * left < thread->room) {
        return true;
    }
    uint32_t room = 2 * thread->room + 16;
    struct lint_flushed *larger = realloc(thread->flushed, room * sizeof(*larger));
    if (larger == NULL) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
        return false;
    }
    thread->flushed = larger;
    thread->room = room;
    return true;
}

/* All bytes of a line persist at the next fence of a thread (M3, M4). */
static void send(struct lint *lint, struct lint_dirty *dirty, uint32_t number, uint32_t stack) {
    struct lint_pending *pending = pending_of(dirty, number);
    if (pending == NULL) {
        struct lint_thread *thread = &lint->threads[number];
        if (!has_room(lint, thread)) {
            return;
        }
        thread->flushed[thread->count++] = (struct lint_flushed){
            .dirty = pc_lint_number(&lint->lines, dirty), .lifetime = dirty->lifetime, .stack = stack};
        pending = pc_lint_pending_add(lint, dirty, number);
    }
    pending->bytes = dirty->bytes;
}

/* Something that the next fence has to wait for. */
static void note_work(struct lint *lint, uint32_t thread, uint32_t stack) {
    lint->threads[thread].any = true;
    lint->threads[thread].own |= pc_lint_own(lint, stack);
}

/* Stores */

/* The bytes of a word that hold another value than what is stored to it. */
static uint64_t differing(const struct lint_dirty *dirty, const struct pc_memory *record) {
    unsigned first = record->offset & 63;
    uint64_t found = 0;
    for (unsigned i = 0; i < record->size; i++) {
        found |= (uint64_t)(dirty->value[first + i] != (uint8_t)(record->value >> 8 * i)) << (first + i);
    }
    return found;
}

/* Notes whose bytes, of those stored over, were not persistent yet; everybody once. */
static void note_overwrites(struct lint *lint, struct lint_dirty *dirty, uint64_t bytes, uint32_t second) {
    if (!pc_lint_own(lint, second)) {
        return;
    }
    while (bytes != 0) {
        uint32_t first = dirty->stack[__builtin_ctzll(bytes)];
        for (uint64_t left = bytes; left != 0; left &= left - 1) {
            if (dirty->stack[__builtin_ctzll(left)] == first) {
                bytes &= ~(left & -left);
            }
        }
        if (pc_lint_own(lint, first)) {
            pc_lint_overwrite_add(lint, dirty, first, second);
        }
    }
}

static void count_store(struct lint_dirty *dirty, uint32_t stack, bool same_instruction) {
    if (same_instruction && dirty->stores != 0) {
        return;
    }
    if (dirty->stores++ == 0) {
        dirty->first_store = stack;
    }
    dirty->last_store = stack;
}

static void remember(uint32_t *stacks, unsigned count, uint32_t stack) {
    if (count == 8) { /* most often; a loop of known length is one or two instructions */
        for (unsigned i = 0; i < 8; i++) {
            stacks[i] = stack;
        }
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        stacks[i] = stack;
    }
}

void pc_lint_store(struct lint *lint, uint32_t number, uint32_t file, const struct pc_memory *record) {
    uint8_t kind = record->kind & (uint8_t)~PC_MEMORY_REST;
    bool bypasses = kind == PC_MEMORY_STORE_NONTEMPORAL, locked = kind == PC_MEMORY_STORE_LOCKED;
    uint64_t key = pc_lint_key(file, record->offset);
    unsigned first = record->offset & 63;
    uint64_t bytes = (((uint64_t)1 << record->size) - 1) << first;
    struct lint_thread *thread = &lint->threads[number];
    bool same_instruction = (record->kind & PC_MEMORY_REST) != 0 && thread->last_line == key;
    thread->last_line = key;
    lint->files[file].stores++;
    lint->files[file].stored = 1;
    lint->storing[record->stack] = 1;
    if (bypasses || lint->eadr) {
        note_work(lint, number, record->stack);
    }
    struct lint_line *line = pc_lint_line_find(&lint->lines, key);
    struct lint_dirty *dirty = line == NULL ? NULL : pc_lint_dirty_of(lint, line);
    if (lint->eadr && !bypasses) { /* M5: persistent at once */
        if (dirty != NULL) {
            pc_lint_persist(lint, dirty, bytes);
        }
        return;
    }
    if (line == NULL && (line = pc_lint_line_add(lint, key)) == NULL) {
        return;
    }
    if (dirty == NULL) {
        if ((dirty = pc_lint_dirty_add(lint, line, file)) == NULL) {
            return;
        }
    } else if ((dirty->bytes & bytes) != 0) {
        uint64_t over = dirty->bytes & bytes & ~dirty->settled;
        bool is_new = (line->state & LINT_BYPASSED) != 0 && pc_lint_private(lint, line->written_back);
        if (over != 0 && !locked && !is_new) { /* nothing leads yet to what was just allocated and cleared */
            note_overwrites(lint, dirty, over & differing(dirty, record), record->stack);
        }
        take_away(dirty, bytes);
    }
    dirty->bytes |= bytes;
    remember(&dirty->stack[first], record->size, record->stack);
    memcpy(&dirty->value[first], &record->value, record->size); /* both little-endian */
    if (locked || record->value << (64 - 8 * record->size) == 0) {
        dirty->settled |= bytes;
    }
    if (bypasses) {
        pc_lint_overwrites_end(lint, dirty, pc_lint_own(lint, record->stack));
        line->written_back = record->stack;
        line->state |= LINT_BYPASSED;
        send(lint, dirty, number, record->stack);
    } else {
        dirty->cached |= bytes;
        count_store(dirty, record->stack, same_instruction);
    }
}

/* Flushes */

static void found_redundant(struct lint *lint, uint32_t file, const struct lint_line *line, uint64_t offset,
                            uint32_t stack) {
    const struct lint_file *owner = &lint->files[file];
    enum lint_pattern pattern = LINT_FLUSH_CLEAN;
    if (pc_lint_private(lint, line->written_back)) {
        return;
    }
    if ((line->state & LINT_BYPASSED) != 0) {
        pattern = LINT_FLUSH_BYPASSED;
    } else if ((line->state & LINT_FLUSHED) != 0) {
        pattern = LINT_FLUSH_AGAIN;
    } else if (offset + 64 > owner->written_from && offset < owner->written_to) {
        return; /* a write() may have filled it */
    }
    pc_lint_found(lint, pattern, file, stack, line->written_back, 0, 0);
}

/* Whether a flush by a thread writes anything back that was not on its way for this thread. */
static bool is_useful(struct lint_dirty *dirty, uint32_t thread) {
    if (dirty == NULL) {
        return false;
    }
    const struct lint_pending *pending = pending_of(dirty, thread);
    return dirty->cached != 0 || (dirty->bytes & ~(pending == NULL ? 0 : pending->bytes)) != 0;
}

void pc_lint_flush(struct lint *lint, uint32_t thread, uint32_t file, const struct pc_memory *record) {
    uint32_t stack = record->stack;
    bool own = pc_lint_own(lint, stack);
    lint->executed[stack]++;
    lint->files[file].flushed = 1;
    if (lint->files[file].inode == 0 || lint->eadr) {
        if (own) {
            pc_lint_found(lint, lint->eadr ? LINT_FLUSH_EADR : LINT_FLUSH_VOLATILE, file, stack, 0, 0, 0);
        }
        return;
    }
    note_work(lint, thread, stack);
    uint64_t key = pc_lint_key(file, record->offset);
    struct lint_line *line = pc_lint_line_find(&lint->lines, key);
    if (line == NULL && (line = pc_lint_line_add(lint, key)) == NULL) {
        return;
    }
    struct lint_dirty *dirty = pc_lint_dirty_of(lint, line);
    if (!is_useful(dirty, thread)) {
        if (own) {
            found_redundant(lint, file, line, record->offset & ~(uint64_t)63, stack);
        }
        if ((line->state & (LINT_FLUSHED | LINT_BYPASSED)) == 0) {
            line->written_back = stack;
        }
        line->state |= LINT_FLUSHED;
    } else {
        if (own && dirty->stores > 1) {
            pc_lint_found(lint, LINT_FLUSH_SEVERAL, file, stack, dirty->first_store, dirty->last_store,
                          dirty->stores);
        }
        pc_lint_overwrites_end(lint, dirty, own);
        dirty->stores = 0;
        dirty->cached = 0;
        line->written_back = stack;
        line->state = (line->state | LINT_FLUSHED) & ~LINT_BYPASSED;
    }
    if (dirty != NULL && record->size == PC_FLUSH_CLFLUSH) { /* M2 */
        pc_lint_persist(lint, dirty, LINT_ALL_BYTES);
    } else if (dirty != NULL) {
        send(lint, dirty, thread, stack);
    }
}

/* Fences */

/* Makes persistent what a thread has sent; how many lines, and the flushes of the first and the last. */
static uint32_t complete(struct lint *lint, uint32_t number, uint32_t *first, uint32_t *last) {
    struct lint_thread *thread = &lint->threads[number];
    uint32_t lines = 0;
    for (uint32_t i = 0; i < thread->count; i++) {
        const struct lint_flushed *flushed = &thread->flushed[i];
        struct lint_dirty *dirty = pc_lint_dirty(&lint->lines, flushed->dirty);
        if (dirty->lifetime != flushed->lifetime) {
            continue; /* persistent already, by another thread or a sync */
        }
        struct lint_pending *pending = pending_of(dirty, number);
        uint64_t bytes = pending->bytes;
        *pending = *pc_lint_pending(dirty, --dirty->pending_count);
        if (bytes != 0) {
            *first = lines++ == 0 ? flushed->stack : *first;
            *last = flushed->stack;
            pc_lint_persist(lint, dirty, bytes);
        }
    }
    thread->count = 0;
    return lines;
}

void pc_lint_fence(struct lint *lint, uint32_t number, const struct pc_memory *record) {
    struct lint_thread *thread = &lint->threads[number];
    uint32_t stack = record->stack, first = 0, last = 0;
    bool own = pc_lint_own(lint, stack);
    uint32_t lines = complete(lint, number, &first, &last);
    lint->executed[stack]++;
    if (own && lines > 1) {
        pc_lint_found(lint, LINT_FENCE_SEVERAL, 0, stack, first, last, lines);
    }
    if (record->size == PC_FENCE_LOCKED) {
        return; /* it is there for another purpose, and nobody relies on it to persist anything */
    }
    if (own && !thread->any && !thread->own) {
        pc_lint_found(lint, LINT_FENCE_IDLE, 0, stack, thread->last_fence, 0, 0);
    }
    thread->any = false;
    thread->own = own ? false : thread->own;
    thread->last_fence = stack;
}
