/* They are kept in the order of their addresses, and do not overlap. */
#include "spans.h"

#include "memory.h"

#include <string.h>

enum { SPANS_MOST = 1024, OLD_MOST = 256 << 10, WORD = 8, FEW = 8 };

static _Thread_local struct spans {
    unsigned count;
    unsigned last; /* that was asked for: libpmemobj asks in their order */
    size_t old_size;
    struct pc_span list[SPANS_MOST];
    char old[OLD_MOST];
} *spans;

void pc_spans_clear(void) {
    if (spans)
        spans->count = spans->last = 0, spans->old_size = 0;
}

/* The number of spans that end at or below an address. Of a few all are looked at: nobody could guess where a
 * search among them goes. */
static unsigned below(uintptr_t address) {
    unsigned low = 0, high = spans->count;
    while (high - low > FEW) {
        unsigned middle = (low + high) / 2;
        if (spans->list[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    unsigned count = low;
    for (unsigned i = low; i < high; i++)
        count += spans->list[i].high <= address;
    return count;
}

/* Those for which there is no room count as PMDK's own. */
static void insert(unsigned at, struct pc_span span, bool kept) {
    size_t size = span.high - span.low;
    if (spans->count == SPANS_MOST)
        return;
    if (kept && size <= OLD_MOST - spans->old_size) {
        char *old = spans->old + spans->old_size;
        span.old = size == WORD ? memcpy(old, (const void *)span.low, WORD)
                                : memcpy(old, (const void *)span.low, size);
        spans->old_size += size;
    }
    if (at < spans->count)
        memmove(&spans->list[at + 1], &spans->list[at], (spans->count - at) * sizeof span);
    spans->list[at] = span;
    spans->count++;
}

void pc_span_add(const void *address, size_t size, const void *site, bool kept) {
    uintptr_t low = (uintptr_t)address, end = low + size;
    if (!address || (!spans && !pc_thread_memory(sizeof *spans, (void **)&spans, NULL)))
        return;
    for (unsigned at = below(low); low < end; at++) { /* what lies between those that are there */
        const struct pc_span *next = at < spans->count && spans->list[at].low < end ? &spans->list[at] : NULL;
        uintptr_t until = next ? next->low : end, behind = next ? next->high : end;
        if (low < until)
            insert(at, (struct pc_span){low, until, site, NULL}, kept);
        low = behind;
    }
}

const struct pc_span *pc_spans(unsigned *count) {
    *count = spans ? spans->count : 0;
    return spans ? spans->list : NULL;
}

/* Whether a range begins in a span, and ends there or in those that touch it: libpmemobj flushes them as one.
 */
static bool holds(unsigned at, uintptr_t low, size_t size) {
    const struct pc_span *span = &spans->list[at], *end = spans->list + spans->count;
    if (span >= end || span->low > low || span->high <= low)
        return false;
    while (low + size > span->high && span + 1 < end && span[1].low == span->high)
        span++;
    spans->last = (unsigned)(span - spans->list);
    return low + size <= span->high;
}

bool pc_span_holds(const void *address, size_t size) {
    uintptr_t low = (uintptr_t)address;
    if (!spans)
        return false;
    return holds(spans->last, low, size) || holds(spans->last + 1, low, size) || holds(below(low), low, size);
}

const struct pc_span *pc_span_at(uintptr_t address, uintptr_t *until) {
    unsigned at = spans ? below(address) : 0;
    if (!spans || at == spans->count)
        return NULL;
    const struct pc_span *span = &spans->list[at];
    if (span->low <= address)
        return span;
    if (span->low < *until)
        *until = span->low;
    return NULL;
}
