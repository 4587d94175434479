/* Unnecessary writebacks: a flush of a cache line that holds nothing to write back. */
#include "engine.h"

enum { LINES = SHADOW_PAGE / SHADOW_LINE };

/* What was found among the lines of one flush. */
struct needless {
    bool clean, flushed;
    uint64_t clean_at, flushed_at; /* the first such line */
    uint32_t flushed_by;
};

static void look_at_line(struct needless *found, const struct page *page, unsigned *i, unsigned line) {
    unsigned low = line * SHADOW_LINE, high = low + SHADOW_LINE;
    const struct span *flushed = NULL;
    while (*i < page->count && page->spans[*i].high <= low)
        ++*i;
    for (unsigned j = *i; j < page->count && page->spans[j].low < high; j++) {
        if (!page->spans[j].flushed)
            return; /* there is something to write back */
        flushed = &page->spans[j];
    }
    uint64_t at = page->number * SHADOW_PAGE + low;
    if (flushed && !found->flushed) {
        found->flushed = true;
        found->flushed_at = at;
        found->flushed_by = flushed->flush_site;
    } else if (!flushed && !found->clean) {
        found->clean = true;
        found->clean_at = at;
    }
}

/* The whole page is one fresh span: nothing to look for, and by far the most frequent case of large flushes.
 */
static bool is_all_fresh(struct page *page, unsigned low, unsigned high) {
    unsigned i = page_first(page, low);
    return i < page->count && !page->spans[i].flushed && page->spans[i].low < low + SHADOW_LINE &&
           page->spans[i].high + (unsigned)SHADOW_LINE > high;
}

static struct needless look(struct engine *engine, uint64_t low, uint64_t high) {
    struct needless found = {0};
    struct walk walk = walk_over(&engine->memory, low, high);
    uint64_t pages = (high - 1) / SHADOW_PAGE - low / SHADOW_PAGE + 1;
    unsigned from, to;
    for (struct page *page; (page = walk_next(&walk, &from, &to)); pages--) {
        if (is_all_fresh(page, from, to))
            continue;
        unsigned i = page_first(page, from);
        for (unsigned line = from / SHADOW_LINE; line < to / SHADOW_LINE; line++)
            look_at_line(&found, page, &i, line);
    }
    if (pages && !found.clean) { /* of some pages nothing was written at all */
        found.clean = true;
        found.clean_at = low;
    }
    return found;
}

static void see(struct engine *engine, void *room, const struct operation *operation) {
    struct finding_place place = {.at = operation->site, .address = operation->low, .size = SHADOW_LINE};
    enum effect effect = engine->model->effect[operation->code];
    if (effect == FLUSHES_FREELY) {
        report(engine, KIND_FREE_WRITEBACK, &place);
        return;
    }
    uint64_t low = operation->low & ~(uint64_t)(SHADOW_LINE - 1);
    uint64_t high = (operation->high + SHADOW_LINE - 1) & ~(uint64_t)(SHADOW_LINE - 1);
    if (effect != FLUSHES || high == 0 || engine->is_blind || ranges_touch(&engine->excluded, low, high))
        return; /* what is excluded may have been written */
    struct needless found = look(engine, low, high);
    if (found.flushed) {
        place.other = found.flushed_by;
        place.address = found.flushed_at;
        report(engine, KIND_SECOND_WRITEBACK, &place);
        place.other = 0;
    }
    if (found.clean) {
        place.address = found.clean_at;
        report(engine, KIND_CLEAN_WRITEBACK, &place);
    }
}

const struct checker checker_writeback = {
    .name = "writeback",
    .see = see,
    .codes = {PC_FLUSH, PC_DC_CVAP},
};
