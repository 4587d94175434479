/* A transaction gives whole objects to libpmemobj and changes a few bytes of each: only those are logged.
 * What a range held when it was given is kept for that, as long as there is room. */
#include "updates.h"

#include "interpose/next.h"
#include "lines.h"
#include "log.h"
#include "pools.h"
#include "spans.h"
#include "words.h"

#include <immintrin.h>

enum { WORD = 8, LINE = 64, PIECE = 64 * WORD }; /* bytes for which there is a mask, a bit for each word */
enum { FILLED_MOST = 1 << 30 };                  /* bytes of one record: it has 32 bits for that */
enum { GAP = 48 }; /* changes so near to each other make one record: another costs more than these bytes */

_Thread_local struct pc_self pc_self;

int pmemobj_tx_stage(void);

/* Whether libpmemobj puts back what the program's data were, or finishes what it began for the program. */
static bool is_restoring(void) {
    return pc_self.recovering || (pc_self.transaction && NEXT(pmemobj_tx_stage)() == STAGE_ON_ABORT);
}

/* What the allocator notes before a transaction commits is of use to nobody but that transaction: it is told
 * with what that changes. If it never comes to that, it is found at the next start. */
static bool may_wait(void) {
    return pc_self.transaction && !pc_self.told && !pc_self.late && !pc_self.site;
}

static void stage(enum pc_guard_kind kind, struct pc_place place, const void *data, size_t size,
                  const void *site, unsigned flags) {
    if (!site)
        flags |= is_restoring() ? PC_GUARD_RESTORE : PC_GUARD_LIBRARY;
    pc_lines_forget();
    pc_log_note(&(struct pc_log_entry){.kind = kind,
                                       .pool = place.pool,
                                       .flags = flags,
                                       .offset = place.offset,
                                       .site = (uint64_t)(uintptr_t)site,
                                       .transaction = pc_self.transaction,
                                       .data = data,
                                       .size = size});
    if (!(flags & PC_GUARD_LIBRARY) || !may_wait())
        pc_log_is_due();
}

/* Which words of a line are not what they were, a bit each. */
static unsigned changed_in_line(const char *now, const char *old) {
    unsigned same = 0;
    for (unsigned i = 0; i < LINE / 16; i++) {
        __m128i halves = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)now + i),
                                         _mm_loadu_si128((const __m128i *)old + i));
        halves = _mm_and_si128(halves, _mm_shuffle_epi32(halves, _MM_SHUFFLE(2, 3, 0, 1)));
        same |= (unsigned)_mm_movemask_pd(_mm_castsi128_pd(halves)) << 2 * i;
    }
    return same ^ 0xff;
}

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline unsigned changed_in_line_avx2(const char *now, const char *old) {
    const __m256i *one = (const __m256i *)now, *other = (const __m256i *)old;
    __m256i low = _mm256_cmpeq_epi64(_mm256_loadu_si256(one), _mm256_loadu_si256(other));
    __m256i high = _mm256_cmpeq_epi64(_mm256_loadu_si256(one + 1), _mm256_loadu_si256(other + 1));
    unsigned same = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
                    (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
    return same ^ 0xff;
}

/* The same of whole lines. */
#define IN_LINES(in_line)                                                                                    \
    uint64_t bits = 0;                                                                                       \
    for (size_t at = 0; at < size; at += LINE)                                                               \
        bits |= (uint64_t)in_line(now + at, old + at) << at / WORD;                                          \
    return bits

static uint64_t changed_in_lines(const char *now, const char *old, size_t size) {
    IN_LINES(changed_in_line);
}

AVX2 static uint64_t changed_in_lines_avx2(const char *now, const char *old, size_t size) {
    IN_LINES(changed_in_line_avx2);
}

/* Of a piece. */
static uint64_t changed(const char *now, const char *old, size_t size) {
    size_t at = size / LINE * LINE;
    uint64_t bits = 0;
    if (at)
        bits = __builtin_cpu_supports("avx2") ? changed_in_lines_avx2(now, old, at)
                                              : changed_in_lines(now, old, at);
    for (; at + WORD <= size; at += WORD)
        bits |= (uint64_t)(pc_word_at(now + at) != pc_word_at(old + at)) << at / WORD;
    if (at < size)
        bits |= (uint64_t)(pc_part_at(now + at, size - at) != pc_part_at(old + at, size - at)) << at / WORD;
    return bits;
}

/* With up to five bits behind each that is set: so those are in one run between which there is less than GAP.
 */
static uint64_t together(uint64_t bits) {
    _Static_assert(GAP == 6 * WORD, "one more than five words");
    bits |= bits << 1;
    bits |= bits << 2;
    return bits | bits << 2;
}

static void stage_changes(struct pc_place place, const char *now, const char *old, size_t size,
                          const void *site) {
    size_t start = 0, end = 0; /* of changes that are together, as far as they are known */
    if (size == WORD) {        /* most of them */
        if (pc_word_at(now) != pc_word_at(old))
            stage(PC_GUARD_UPDATE, place, now, size, site, PC_GUARD_CHANGES);
        return;
    }
    for (size_t piece = 0; piece < size; piece += PIECE) {
        uint64_t bits =
            changed(now + piece, old + piece, size - piece < PIECE ? size - piece : (size_t)PIECE);
        uint64_t near = together(bits);
        while (bits) {
            uint64_t run = near & ~(near + (near & -near)); /* the lowest: the sum carries over it */
            size_t low = piece + WORD * (size_t)__builtin_ctzll(bits);
            size_t high = piece + WORD * (size_t)(64 - __builtin_clzll(bits & run));
            bits &= ~run;
            near &= ~run;
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

/* libpmemobj copies what a range held; where its notebook has no room for that, to wherever else it likes. Of
 * use to nobody later. */
static bool is_saving(const void *caller) {
    return pc_self.saving && is_of_pmdk(caller) && !is_restoring();
}

/* Who it is that writes: this very call, or the line that called PMDK. NULL: PMDK on its own account, as its
 * allocator. */
static const void *site_of(const void *caller) {
    if (!is_of_pmdk(caller))
        return caller;
    return pc_self.transaction ? NULL : pc_self.site;
}

void pc_update_untold(struct pc_place place, const void *address, const void *data, size_t size,
                      const void *caller) {
    if (pc_self.transaction && data == address && is_of_pmdk(caller)) {
        stage_of_transaction(place, data, size); /* its fence is yet to come */
    } else if (!is_saving(caller)) {
        stage(PC_GUARD_UPDATE, place, data, size, site_of(caller), 0);
        pc_log_write();
    }
}

void pc_fill(struct pc_place place, int byte, size_t size, const void *caller) {
    char value = (char)byte;
    if (is_saving(caller))
        return;
    for (size_t left = size, part; left > 0; left -= part, place.offset += part) {
        part = left < FILLED_MOST ? left : FILLED_MOST;
        stage(PC_GUARD_FILL, place, &value, part, site_of(caller), 0);
    }
    pc_log_write();
}
