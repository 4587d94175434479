/* A transaction gives whole objects to libpmemobj and changes a few bytes of each: only those are logged.
 * What a range held when it was given is kept for that, as long as there is room. */
#include "updates.h"

#include "interpose/next.h"
#include "lines.h"
#include "log.h"
#include "pools.h"

#include <string.h>

enum { WORD = 8, GAP = 48 }; /* changes so near to each other make one record: its head has as many bytes */

_Thread_local struct pc_self pc_self;

int pmemobj_tx_stage(void);

void pc_spans_clear(void) {
    pc_self.span_count = 0;
    pc_self.old_size = 0;
}

/* More than there is room for count as PMDK's own. */
void pc_span_add(const void *address, size_t size, const void *site, bool kept) {
    if (pc_self.span_count == PC_SPANS_MOST || !address)
        return;
    struct pc_span span = {(uintptr_t)address, (uintptr_t)address + size, site, NULL};
    if (kept && size <= PC_OLD_MOST - pc_self.old_size) {
        span.old = memcpy(pc_self.old + pc_self.old_size, address, size);
        pc_self.old_size += size;
    }
    pc_self.spans[pc_self.span_count++] = span;
}

void pc_log_waiting(void) {
    if (pc_self.waiting_count) {
        pc_log_put_all(pc_self.waiting, pc_self.waiting_count);
        pc_self.waiting_count = 0;
    }
}

void pc_wait(const struct pc_log_entry *entry) {
    if (pc_self.waiting_count == PC_WAITING_MOST)
        pc_log_waiting();
    pc_self.waiting[pc_self.waiting_count++] = *entry;
}

/* Whether libpmemobj puts back what the program's data were, or finishes what it began for the program. */
static bool is_restoring(void) {
    return pc_self.recovering || (pc_self.transaction && NEXT(pmemobj_tx_stage)() == STAGE_ON_ABORT);
}

static void put(enum pc_guard_kind kind, struct pc_place place, const void *data, size_t size,
                const void *site, bool wait, unsigned flags) {
    unsigned of_pmdk = !site && is_restoring() ? PC_GUARD_RESTORE : PC_GUARD_LIBRARY;
    struct pc_log_entry entry = {.kind = kind,
                                 .pool = place.pool,
                                 .flags = flags | (site ? 0 : of_pmdk),
                                 .offset = place.offset,
                                 .site = (uint64_t)(uintptr_t)site,
                                 .transaction = pc_self.transaction,
                                 .data = data,
                                 .size = size};
    pc_lines_forget();
    if (wait)
        pc_wait(&entry);
    else
        pc_log_put(&entry);
}

/* Bytes from `from` on that are the same as they were, in whole words; the rest of less than a word with
 * them. */
static size_t same(const char *now, const char *old, size_t from, size_t size) {
    size_t at = from;
    for (uint64_t a, b; at + WORD <= size; at += WORD) {
        memcpy(&a, now + at, WORD);
        memcpy(&b, old + at, WORD);
        if (a != b)
            break;
    }
    if (at + WORD > size && memcmp(now + at, old + at, size - at) == 0)
        at = size;
    return at - from;
}

static void put_changes(struct pc_place place, const char *now, const char *old, size_t size,
                        const void *site) {
    for (size_t start = same(now, old, 0, size); start < size;) {
        size_t end = start, next = start;
        do {
            end = next + WORD < size ? next + WORD : size;
            next = end + same(now, old, end, size);
        } while (next < size && next - end < GAP);
        struct pc_place there = {place.pool, place.offset + start, false};
        put(PC_GUARD_UPDATE, there, now + start, end - start, site, true, PC_GUARD_CHANGES);
        start = next;
    }
}

/* The range that was given to the transaction first and holds an address; NULL, and where the next one
 * begins. */
static const struct pc_span *span_at(uintptr_t address, uintptr_t *until) {
    for (unsigned i = 0; i < pc_self.span_count; i++) {
        const struct pc_span *span = &pc_self.spans[i];
        if (address >= span->low && address < span->high)
            return span;
        if (span->low > address && span->low < *until)
            *until = span->low;
    }
    return NULL;
}

/* In a transaction libpmemobj flushes what it was given, ranges that touch as one, and notes of its own. */
static void put_of_transaction(struct pc_place place, const char *data, size_t size) {
    uintptr_t low = (uintptr_t)data, high = low + size;
    for (uintptr_t at = low, end; at < high; at = end) {
        end = high;
        const struct pc_span *span = span_at(at, &end);
        struct pc_place there = {place.pool, place.offset + (at - low), false};
        if (span)
            end = span->high < high ? span->high : high;
        if (span && span->old)
            put_changes(there, (const char *)at, span->old + (at - span->low), end - at, span->site);
        else
            put(PC_GUARD_UPDATE, there, (const char *)at, end - at, span ? span->site : NULL, true, 0);
    }
}

/* Who it is that writes: this very call, or the line that called PMDK. NULL: PMDK on its own account, as its
 * allocator. */
static const void *site_of(const void *caller) {
    if (!is_of_pmdk(caller))
        return caller;
    return pc_self.transaction ? NULL : pc_self.site;
}

void pc_update(const void *address, const void *data, size_t size, const void *caller) {
    struct pc_place place = pc_place_of(address);
    if (!place.pool || place.private || !size)
        return;
    if (pc_self.transaction && data == address && is_of_pmdk(caller))
        put_of_transaction(place, data, size);
    else
        put(PC_GUARD_UPDATE, place, data, size, site_of(caller), false, 0);
}

void pc_fill(const void *address, int byte, size_t size, const void *caller) {
    struct pc_place place = pc_place_of(address);
    char value = (char)byte;
    if (place.pool && !place.private && size)
        put(PC_GUARD_FILL, place, &value, size, site_of(caller), false, 0);
}
