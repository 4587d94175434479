/* The way of a record through the engine: is it well formed, does it concern what is tracked, what do the
 * checkers say, and only then its effect. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENOUGH_PAGES = 1 << 8,       /* a megabyte of persistent data is kept in mind: more leaves the cache */
    ENOUGH_LOG_PAGES = 1 << 6,   /* few, so that they stay in the cache: a log is emptied at each end */
    MOST_PAGES = (1 << 18) + 64, /* a gigabyte of data that is not yet persistent, wherever it begins */
};
enum { CROWDED = 20, OLD = 64, VERY_OLD = 1 << 12 }; /* spans of a page; fences ago */
enum { LARGEST = 1u << 30 }; /* no object of persistent memory is tracked that is larger than a gigabyte */

#define SET_OF(code) (UINT64_C(1) << (code))

/* Sets of operations, as bits. */
static const uint64_t about_pools =
    SET_OF(PC_POOL) | SET_OF(PC_UNPOOL) | SET_OF(PC_EXCLUDE) | SET_OF(PC_INCLUDE);
static const uint64_t with_range = SET_OF(PC_WRITE) | SET_OF(PC_WRITE_NT) | SET_OF(PC_FLUSH) |
                                   SET_OF(PC_LIBRARY_FLUSH) | SET_OF(PC_DC_CVAP) | SET_OF(PC_TX_ADD) |
                                   SET_OF(PC_TX_ALLOC) | SET_OF(PC_TX_ADD_IF) | SET_OF(PC_IS_PERSISTENT) |
                                   SET_OF(PC_FIRST) | SET_OF(PC_IS_ORDERED_BEFORE) | SET_OF(PC_POOL) |
                                   SET_OF(PC_UNPOOL) | SET_OF(PC_EXCLUDE) | SET_OF(PC_INCLUDE);

static inline bool has_range(unsigned code) {
    return with_range >> code & 1;
}

static inline bool is_about_pools(unsigned code) {
    return about_pools >> code & 1;
}

struct engine *engine_open(const struct model *model, struct findings *findings, uint32_t thread) {
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return NULL;
    engine->model = model;
    engine->findings = findings;
    engine->thread = thread;
    engine->clock = TIME_FENCE; /* so that no time is 0 */
    shadow_open(&engine->memory, ENOUGH_PAGES, MOST_PAGES);
    shadow_open(&engine->transactions.log, ENOUGH_LOG_PAGES, MOST_PAGES);
    for (unsigned i = 0; checkers[i]; i++) {
        const struct checker *checker = checkers[i];
        engine->rooms[i] = calloc(1, checker->room + 1);
        for (const enum pc_operation *code = checker->codes; engine->rooms[i] && *code; code++) {
            unsigned seat = 0;
            while (engine->seen_by[*code][seat].see)
                seat++;
            engine->seen_by[*code][seat].see = checker->see;
            engine->seen_by[*code][seat].room = engine->rooms[i];
        }
    }
    return engine;
}

void engine_close(struct engine *engine) {
    for (unsigned i = 0; checkers[i]; i++) {
        if (checkers[i]->close && engine->rooms[i])
            checkers[i]->close(engine->rooms[i]);
        free(engine->rooms[i]);
    }
    shadow_close(&engine->memory);
    shadow_close(&engine->transactions.log);
    ranges_free(&engine->pools);
    ranges_free(&engine->excluded);
    free(engine->told);
    free(engine);
}

void engine_spans(struct engine *engine, uint64_t low, uint64_t high, each_span each, void *with) {
    struct span *covering = shadow_covering(&engine->memory, low, high);
    if (covering) {
        each(with, covering, low - low % SHADOW_PAGE + covering->low);
        return;
    }
    struct walk walk = walk_over(&engine->memory, low, high);
    unsigned from, to;
    for (struct page *page; (page = walk_next(&walk, &from, &to));) {
        for (unsigned i = page_first(page, from); i < page->count && page->spans[i].low < to; i++)
            if (!each(with, &page->spans[i], page->number * SHADOW_PAGE + page->spans[i].low))
                return;
    }
}

/* A page of which everything is persistent: whoever asks for it later gets the answer of memory never
 * written. */
static bool is_settled(const void *with, const struct page *page) {
    const struct engine *engine = with;
    for (unsigned i = 0; i < page->count; i++)
        if (engine->model->durability(engine, &page->spans[i]) != IS_PERSISTENT)
            return false;
    return true;
}

/* What has long been persistent is kept in less detail: what was written and flushed together is one, and in
 * the end it is like memory that was never written. */
static enum tidy judge_span(const void *with, const struct span *before, const struct span *span) {
    const struct engine *engine = with;
    uint64_t now = epoch_of(engine->clock), written = epoch_of(span->written),
             flushed = epoch_of(span->flushed);
    uint64_t last = flushed > written ? flushed : written;
    if (now - last < OLD || engine->model->durability(engine, span) != IS_PERSISTENT)
        return TIDY_KEEP;
    if (now - last > VERY_OLD)
        return TIDY_DROP;
    bool together = before && epoch_of(before->written) == written && epoch_of(before->flushed) == flushed &&
                    before->flags == span->flags;
    return together ? TIDY_JOIN : TIDY_KEEP;
}

static void write_range(struct engine *engine, const struct operation *operation, bool through) {
    if ((engine->clock & (TIME_FENCE - 1)) < TIME_FENCE - 1)
        engine->clock++;
    uint64_t low = operation->low;
    while (low < operation->high) {
        uint64_t start = low & ~(uint64_t)(SHADOW_PAGE - 1), end = start + SHADOW_PAGE;
        unsigned to = operation->high < end ? (unsigned)(operation->high - start) : SHADOW_PAGE;
        struct page *page = shadow_make(&engine->memory, start / SHADOW_PAGE, is_settled, engine);
        if (page && page->count == 0)
            note_page(engine, page->number);
        else if (page && page->count >= CROWDED && page->count + 2 > page->room)
            page_tidy(page, judge_span, engine);
        struct span *span = page ? page_set(page, (unsigned)(low - start), to) : NULL;
        if (!span) {
            struct finding_place place = {operation->site, 0, 0, low, operation->high - low};
            report(engine, KIND_TOO_MUCH_STATE, &place);
            engine->is_blind = true;
            return;
        }
        span->flags = 0;
        span->write_site = operation->site;
        span->written = engine->clock;
        span->flush_site = through ? operation->site : 0;
        span->flushed = through ? engine->clock : 0;
        low = end;
    }
}

/* The bytes of a page that a flush is about, as it was asked for. An instruction names a line by any of its
 * bytes, and a library means what it flushes. */
static struct range meant_of(const struct operation *operation, const struct page *page, unsigned from,
                             unsigned to) {
    uint64_t start = page->number * SHADOW_PAGE;
    bool lines = operation->high - operation->low == 1 || operation->code == PC_LIBRARY_FLUSH;
    return (struct range){.low = lines || operation->low < start + from ? from : operation->low - start,
                          .high = lines || operation->high > start + to ? to : operation->high - start};
}

/* What was written as one is told apart where only a part of it is meant. */
static void split_what_is_meant(struct page *page, unsigned offset) {
    unsigned i = page_first(page, offset);
    const struct span *span = i < page->count ? &page->spans[i] : NULL;
    if (span && span->low < offset && (!span->flushed || span->flags & BY_LUCK))
        page_split(page, offset);
}

static void flush_span(struct engine *engine, struct span *span, struct range meant, uint32_t site) {
    bool is_meant = span->low >= meant.low && span->high <= meant.high;
    if (!span->flushed) {
        span->flushed = engine->clock;
        span->flush_site = site;
        span->flags = is_meant ? 0 : BY_LUCK;
    } else if (is_meant) {
        span->flags = 0;
    }
}

/* A flush writes back whole cache lines, whatever was asked for. */
static void flush_range(struct engine *engine, const struct operation *operation) {
    uint64_t low = operation->low & ~(uint64_t)(SHADOW_LINE - 1);
    uint64_t high = (operation->high + SHADOW_LINE - 1) & ~(uint64_t)(SHADOW_LINE - 1);
    struct walk walk = walk_over(&engine->memory, low, high);
    unsigned from, to;
    for (struct page *page; (page = walk_next(&walk, &from, &to));) {
        struct range meant = meant_of(operation, page, from, to);
        split_what_is_meant(page, (unsigned)meant.low);
        split_what_is_meant(page, (unsigned)meant.high);
        unsigned i = page_first(page, from);
        if (i < page->count && page->spans[i].low < from) {
            if (!page_split(page, from))
                continue;
            i++;
        }
        for (; i < page->count && page->spans[i].low < to; i++) {
            if (page->spans[i].high > to && !page_split(page, to))
                break;
            flush_span(engine, &page->spans[i], meant, operation->site);
        }
    }
}

static void take_effect(struct engine *engine, const struct operation *operation) {
    switch ((enum effect)engine->model->effect[operation->code]) {
    case DOES_NOTHING:
    case IS_FOREIGN:
    case FLUSHES_FREELY:
        break;
    case WRITES:
        write_range(engine, operation, false);
        break;
    case WRITES_THROUGH:
        write_range(engine, operation, true);
        break;
    case FLUSHES:
        flush_range(engine, operation);
        break;
    case DRAINS:
        engine->drained = next_fence(engine->clock);
        engine->clock = engine->drained;
        break;
    case FENCES:
    case ORDERS:
        engine->clock = next_fence(engine->clock);
        break;
    }
}

static void show_to_checkers(struct engine *engine, const struct operation *operation) {
    for (unsigned i = 0; engine->seen_by[operation->code][i].see; i++)
        engine->seen_by[operation->code][i].see(engine, engine->seen_by[operation->code][i].room, operation);
}

static void show_and_do(struct engine *engine, const struct operation *operation) {
    show_to_checkers(engine, operation);
    take_effect(engine, operation);
}

/* A write, without what is excluded of it: that leaves no trace in the shadow memory. */
static void write_in_scope(struct engine *engine, struct operation operation) {
    uint64_t high = operation.high;
    size_t next = ranges_first(&engine->excluded, operation.low);
    while (operation.low < high) {
        const struct range *hole = next < engine->excluded.count ? &engine->excluded.at[next] : NULL;
        operation.high = hole && hole->low < high ? hole->low : high;
        if (operation.low < operation.high)
            show_and_do(engine, &operation);
        operation.low = hole && hole->low < high ? hole->high : high;
        next++;
    }
}

static void exclude(struct engine *engine, const struct operation *operation) {
    ranges_add(&engine->excluded, operation->low, operation->high);
    struct walk walk = walk_over(&engine->memory, operation->low, operation->high);
    unsigned from, to;
    for (struct page *page; (page = walk_next(&walk, &from, &to));)
        page_clear(page, from, to);
}

static void change_ranges(struct engine *engine, const struct operation *operation) {
    switch (operation->code) {
    case PC_POOL:
        ranges_add(&engine->pools, operation->low, operation->high);
        break;
    case PC_UNPOOL:
        ranges_remove(&engine->pools, operation->low, operation->high);
        break;
    case PC_EXCLUDE:
        exclude(engine, operation);
        break;
    default:
        ranges_remove(&engine->excluded, operation->low, operation->high);
        break;
    }
}

/* Why a range cannot be checked: it has no size, or a wrong one, or lies elsewhere. */
static __attribute__((noinline)) void refuse(struct engine *engine, const struct operation *operation,
                                             uint64_t size) {
    struct finding_place place = {operation->site, 0, 0, operation->low, size};
    bool huge = size > LARGEST || operation->high < operation->low;
    report(engine, size == 0 ? KIND_ZERO_SIZE : huge ? KIND_HUGE_SIZE : KIND_OUTSIDE_POOL, &place);
    if (operation->code == PC_FIRST || operation->code == PC_IS_ORDERED_BEFORE)
        engine->first.code = 0; /* an order without one of its sides is none */
}

static bool is_in_pool(struct engine *engine, const struct operation *operation) {
    if (operation->low >= engine->pool.low && operation->high <= engine->pool.high)
        return true;
    if (engine->pools.count && !ranges_hold(&engine->pools, operation->low, operation->high))
        return false;
    if (engine->pools.count)
        engine->pool = engine->pools.at[ranges_first(&engine->pools, operation->low)];
    return true;
}

static void take_about_pools(struct engine *engine, const struct operation *operation, uint64_t size) {
    if (size == 0 || operation->high < operation->low) {
        refuse(engine, operation, size);
        return;
    }
    change_ranges(engine, operation);
    engine->pool = (struct range){0};
}

static void take_range(struct engine *engine, const struct operation *operation, uint64_t size) {
    if (size - 1 >= LARGEST || operation->high < operation->low || !is_in_pool(engine, operation))
        refuse(engine, operation, size);
    else if (engine->excluded.count && (operation->code == PC_WRITE || operation->code == PC_WRITE_NT))
        write_in_scope(engine, *operation);
    else
        show_and_do(engine, operation);
}

void engine_take(struct engine *engine, unsigned code, uint32_t site, uint64_t address, uint64_t size) {
    struct operation operation = {code, site, address, address + size};
    engine->serial++;
    if (code == 0 || code >= PC_OPERATIONS) {
        report(engine, KIND_NOT_A_RECORD, &(struct finding_place){0});
    } else if (is_about_pools(code)) {
        take_about_pools(engine, &operation, size);
    } else if (has_range(code)) {
        take_range(engine, &operation, size);
    } else if (code == PC_FORGET_RANGES) {
        ranges_clear(&engine->pools);
        ranges_clear(&engine->excluded);
        engine->pool = (struct range){0};
    } else {
        if (engine->model->effect[code] == IS_FOREIGN)
            report(engine, KIND_FOREIGN, &(struct finding_place){.at = site});
        show_and_do(engine, &operation);
    }
}
