/* A transaction gives whole objects to libpmemobj and changes a few bytes of each: only those are logged.
 * What a range held when it was given is kept for that, as long as there is room. */
#include "updates.h"

#include "interpose/next.h"
#include "lines.h"
#include "log.h"
#include "pools.h"
#include "spans.h"

#include <emmintrin.h>
#include <string.h>

enum { GRAIN = 4, PIECE = 64 * GRAIN }; /* bytes that are compared together, and for which there is a mask */
enum { GAP = 48 }; /* changes so near to each other make one record: its head has as many bytes */

_Thread_local struct pc_self pc_self;

int pmemobj_tx_stage(void);

/* Whether libpmemobj puts back what the program's data were, or finishes what it began for the program. */
static bool is_restoring(void) {
    return pc_self.recovering || (pc_self.transaction && NEXT(pmemobj_tx_stage)() == STAGE_ON_ABORT);
}

static void stage(enum pc_guard_kind kind, struct pc_place place, const void *data, size_t size,
                  const void *site, unsigned flags) {
    if (!site)
        flags |= is_restoring() ? PC_GUARD_RESTORE : PC_GUARD_LIBRARY;
    pc_lines_forget();
    pc_log_stage(&(struct pc_log_entry){.kind = kind,
                                        .pool = place.pool,
                                        .flags = flags,
                                        .offset = place.offset,
                                        .site = (uint64_t)(uintptr_t)site,
                                        .transaction = pc_self.transaction,
                                        .data = data,
                                        .size = size});
}

static __m128i same_grains(const char *now, const char *old) {
    return _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)now), _mm_loadu_si128((const __m128i *)old));
}

/* Which grains of a piece are not what they were: a bit each, those of a word together. */
static uint64_t changed(const char *now, const char *old, size_t size) {
    uint64_t bits = 0;
    size_t at = 0;
    for (; at + 64 <= size; at += 64) {
        __m128i low =
            _mm_packs_epi32(same_grains(now + at, old + at), same_grains(now + at + 16, old + at + 16));
        __m128i high = _mm_packs_epi32(same_grains(now + at + 32, old + at + 32),
                                       same_grains(now + at + 48, old + at + 48));
        unsigned same = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high));
        bits |= (uint64_t)(same ^ 0xffff) << at / GRAIN;
    }
    for (; at + 16 <= size; at += 16) {
        unsigned same = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(same_grains(now + at, old + at)));
        bits |= (uint64_t)(same ^ 0xf) << at / GRAIN;
    }
    for (; at < size; at += GRAIN) {
        size_t left = size - at < GRAIN ? size - at : GRAIN;
        bits |= (uint64_t)(memcmp(now + at, old + at, left) != 0) << at / GRAIN;
    }
    const uint64_t even = 0x5555555555555555;
    bits = (bits | bits >> 1) & even;
    return bits | bits << 1;
}

static void stage_changes(struct pc_place place, const char *now, const char *old, size_t size,
                          const void *site) {
    size_t start = 0, end = 0; /* of changes that are together, as far as they are known */
    for (size_t piece = 0; piece < size; piece += PIECE) {
        uint64_t bits =
            changed(now + piece, old + piece, size - piece < PIECE ? size - piece : (size_t)PIECE);
        while (bits) {
            size_t low = piece + GRAIN * (size_t)__builtin_ctzll(bits);
            uint64_t filled = bits | (bits - 1); /* what is left begins behind the first run of ones */
            uint64_t behind = filled & (filled + 1);
            size_t high = ~filled ? piece + GRAIN * (size_t)__builtin_ctzll(~filled) : piece + PIECE;
            bits = behind;
            if (end && low - end >= GAP) {
                stage(PC_GUARD_UPDATE, (struct pc_place){place.pool, place.offset + start}, now + start,
                      end - start, site, PC_GUARD_CHANGES);
                end = 0;
            }
            if (!end)
                start = low;
            end = high < size ? high : size;
        }
    }
    if (end)
        stage(PC_GUARD_UPDATE, (struct pc_place){place.pool, place.offset + start}, now + start, end - start,
              site, PC_GUARD_CHANGES);
}

static void stage_span(struct pc_place place, const struct pc_span *span, uintptr_t low, uintptr_t high) {
    const char *now = (const char *)low;
    if (span->old)
        stage_changes(place, now, span->old + (low - span->low), high - low, span->site);
    else
        stage(PC_GUARD_UPDATE, place, now, high - low, span->site, 0);
}

void pc_update_transaction(void) {
    unsigned count;
    const struct pc_span *span = pc_spans(&count);
    for (; count > 0; count--, span++) {
        struct pc_place place = pc_place_of((const void *)span->low);
        if (place.pool)
            stage_span(place, span, span->low, span->high);
    }
    pc_log_write();
    pc_self.told = true;
}

/* In a transaction libpmemobj flushes what it was given, ranges that touch as one, and notes of its own. */
static void stage_of_transaction(struct pc_place place, const char *data, size_t size) {
    uintptr_t low = (uintptr_t)data, high = low + size;
    for (uintptr_t at = low, end; at < high; at = end) {
        end = high;
        const struct pc_span *span = pc_span_at(at, &end);
        struct pc_place there = {place.pool, place.offset + (at - low)};
        if (span)
            end = span->high < high ? span->high : high;
        if (!span)
            stage(PC_GUARD_UPDATE, there, (const char *)at, end - at, NULL, 0);
        else if (!pc_self.told)
            stage_span(there, span, at, end);
    }
}

/* Who it is that writes: this very call, or the line that called PMDK. NULL: PMDK on its own account, as its
 * allocator. */
static const void *site_of(const void *caller) {
    if (!is_of_pmdk(caller))
        return caller;
    return pc_self.transaction ? NULL : pc_self.site;
}

void pc_update(struct pc_place place, const void *address, const void *data, size_t size,
               const void *caller) {
    if (pc_self.told && data == address && pc_span_holds(address, size))
        return; /* what is flushed was logged when the commit began */
    if (pc_self.transaction && data == address && is_of_pmdk(caller)) {
        stage_of_transaction(place, data, size); /* its fence is yet to come */
    } else {
        stage(PC_GUARD_UPDATE, place, data, size, site_of(caller), 0);
        pc_log_write();
    }
}

void pc_fill(struct pc_place place, int byte, size_t size, const void *caller) {
    char value = (char)byte;
    stage(PC_GUARD_FILL, place, &value, size, site_of(caller), 0);
    pc_log_write();
}
