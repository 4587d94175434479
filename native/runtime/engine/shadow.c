/* Shadow memory as pages of sorted spans.
 *
 * The table of pages is one of its own, not hash_table.h's: each store of a program passes through it, so its
 * slots are the upper bits of the hash, which spreads neighbouring pages evenly, and most searches end
 * before, in `recent`. */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256, FEW = 3, PAGES_OF_SLAB = 60, DROPPED_AT_ONCE = 64 };

/* Memory for pages, which are used again and again. */
struct slab {
    struct slab *next;
    struct page page[PAGES_OF_SLAB];
};

/* The upper bits of a multiple of the golden ratio: neighbours come to lie far from each other, and evenly.
 */
static size_t slot_of(const struct shadow *shadow, uint64_t number) {
    return (size_t)(number * 0x9e3779b97f4a7c15u >> shadow->shift);
}

void shadow_open(struct shadow *shadow, size_t enough, size_t most) {
    *shadow = (struct shadow){.enough = enough, .most = most};
}

static void let_go_of_spans(struct page *page) {
    if (page->spans != page->few)
        free(page->spans);
}

void shadow_close(struct shadow *shadow) {
    for (size_t i = 0; i < shadow->slots; i++)
        if (shadow->table[i])
            let_go_of_spans(shadow->table[i]);
    while (shadow->slabs) {
        struct slab *slab = shadow->slabs;
        shadow->slabs = slab->next;
        free(slab);
    }
    free(shadow->table);
    *shadow = (struct shadow){.enough = shadow->enough, .most = shadow->most};
}

static struct page *refreshed(struct shadow *shadow, struct page *page) {
    if (page->age != shadow->age) {
        page->age = shadow->age;
        page->count = 0;
    }
    shadow->recent[page->number % 16] = page;
    return page;
}

struct page *shadow_search(struct shadow *shadow, uint64_t number) {
    if (!shadow->slots)
        return NULL;
    struct page *page;
    for (size_t slot = slot_of(shadow, number); (page = shadow->table[slot]);
         slot = (slot + 1) & (shadow->slots - 1))
        if (page->number == number)
            return refreshed(shadow, page);
    return NULL;
}

static void put(struct shadow *shadow, struct page *page) {
    size_t slot = slot_of(shadow, page->number);
    while (shadow->table[slot])
        slot = (slot + 1) & (shadow->slots - 1);
    shadow->table[slot] = page;
}

static bool grow(struct shadow *shadow) {
    struct page **old = shadow->table;
    size_t slots = shadow->slots, more = slots ? 2 * slots : FIRST_SLOTS;
    struct page **table = calloc(more, sizeof(*table));
    if (!table)
        return false;
    shadow->table = table;
    shadow->slots = more;
    shadow->shift = 64 - (unsigned)__builtin_ctzll(more);
    for (size_t i = 0; i < slots; i++)
        if (old[i])
            put(shadow, old[i]);
    free(old);
    return true;
}

static void add_unused(struct shadow *shadow, struct page *page) {
    page->spans = (struct span *)shadow->unused;
    shadow->unused = page;
}

static struct page *take_unused(struct shadow *shadow) {
    if (!shadow->unused) {
        struct slab *slab = malloc(sizeof *slab);
        if (!slab)
            return NULL;
        slab->next = shadow->slabs;
        shadow->slabs = slab;
        for (unsigned i = PAGES_OF_SLAB; i-- > 0;)
            add_unused(shadow, &slab->page[i]);
    }
    struct page *page = shadow->unused;
    shadow->unused = (struct page *)page->spans;
    page->spans = page->few;
    page->room = FEW;
    page->count = 0;
    page->recent = 0;
    return page;
}

/* Take a page out of the table; those that were pushed on by it move up. */
static void drop(struct shadow *shadow, struct page *gone) {
    size_t mask = shadow->slots - 1, slot = slot_of(shadow, gone->number);
    while (shadow->table[slot] != gone)
        slot = (slot + 1) & mask;
    shadow->table[slot] = NULL;
    shadow->count--;
    for (size_t i = (slot + 1) & mask; shadow->table[i]; i = (i + 1) & mask) {
        struct page *page = shadow->table[i];
        shadow->table[i] = NULL;
        put(shadow, page);
    }
    let_go_of_spans(gone);
    add_unused(shadow, gone);
}

static void queue(struct shadow *shadow, struct page *page) {
    page->younger = NULL;
    if (shadow->youngest)
        shadow->youngest->younger = page;
    else
        shadow->oldest = page;
    shadow->youngest = page;
}

/* Drop some pages that nobody can miss, the oldest first; false if there are none. */
static bool make_room(struct shadow *shadow, is_dead dead, const void *with) {
    unsigned dropped = 0;
    memset(shadow->recent, 0, sizeof shadow->recent);
    for (size_t looked = shadow->count; looked > 0 && dropped < DROPPED_AT_ONCE; looked--) {
        struct page *page = shadow->oldest;
        shadow->oldest = page->younger;
        if (!shadow->oldest)
            shadow->youngest = NULL;
        if (page->age != shadow->age || page->count == 0 || dead(with, page)) {
            drop(shadow, page);
            dropped++;
        } else {
            queue(shadow, page);
        }
    }
    return dropped > 0;
}

struct page *shadow_make(struct shadow *shadow, uint64_t number, is_dead dead, const void *with) {
    struct page *page = shadow_find(shadow, number);
    if (page)
        return page;
    if (shadow->count >= shadow->enough && !make_room(shadow, dead, with)) {
        if (shadow->count >= shadow->most)
            return NULL;
        shadow->enough = 2 * shadow->count; /* so that the search is not in vain each time */
        if (shadow->enough > shadow->most)
            shadow->enough = shadow->most;
    }
    if (2 * (shadow->count + 1) > shadow->slots && !grow(shadow))
        return NULL;
    page = take_unused(shadow);
    if (!page)
        return NULL;
    page->number = number;
    page->age = shadow->age;
    put(shadow, page);
    queue(shadow, page);
    shadow->count++;
    return refreshed(shadow, page);
}

unsigned page_search(const struct page *page, unsigned offset) {
    unsigned low = 0, high = page->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (page->spans[middle].high <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow_page(struct page *page, unsigned room) {
    struct span *own = page->spans == page->few ? NULL : page->spans;
    struct span *more = realloc(own, room * sizeof *more);
    if (!more)
        return false;
    if (!own)
        memcpy(more, page->few, sizeof page->few);
    page->spans = more;
    page->room = (uint16_t)room;
    return true;
}

/* Open (or, with a negative number, close) a gap before a span. */
static bool shift(struct page *page, unsigned before, int by) {
    unsigned count = (unsigned)(page->count + by);
    if (count > page->room && !grow_page(page, 2 * count))
        return false;
    unsigned from = by < 0 ? before - (unsigned)-by : before;
    if (page->count > before)
        memmove(page->spans + from + (by > 0 ? by : 0), page->spans + before,
                (page->count - before) * sizeof *page->spans);
    page->count = (uint16_t)count;
    return true;
}

void page_tidy(struct page *page, enum tidy (*judge)(const void *, const struct span *, const struct span *),
               const void *with) {
    unsigned kept = 0;
    for (unsigned i = 0; i < page->count; i++) {
        const struct span *before =
            kept && page->spans[kept - 1].high == page->spans[i].low ? &page->spans[kept - 1] : NULL;
        switch (judge(with, before, &page->spans[i])) {
        case TIDY_KEEP:
            page->spans[kept++] = page->spans[i];
            break;
        case TIDY_JOIN:
            page->spans[kept - 1].high = page->spans[i].high;
            break;
        case TIDY_DROP:
            break;
        }
    }
    page->count = (uint16_t)kept;
    if (4 * kept > 3u * page->room)
        grow_page(page,
                  2u * page->room); /* so that it is not tidied for every new span; without memory it is */
}

bool page_split(struct page *page, unsigned offset) {
    unsigned i = page_first(page, offset);
    if (i == page->count || page->spans[i].low >= offset)
        return true;
    if (!shift(page, i, 1))
        return false;
    page->spans[i] = page->spans[i + 1];
    page->spans[i].high = (uint16_t)offset;
    page->spans[i + 1].low = (uint16_t)offset;
    return true;
}

bool page_clear(struct page *page, unsigned low, unsigned high) {
    if (!page_split(page, low) || !page_split(page, high))
        return false;
    unsigned first = page_first(page, low), last = first;
    while (last < page->count && page->spans[last].low < high)
        last++;
    return last == first || shift(page, last, -(int)(last - first));
}

/* What lies across an end of the range is cut there; all that changes place is moved once. */
struct span *page_set(struct page *page, unsigned low, unsigned high) {
    unsigned i = page_first(page, low), end = i;
    if (i < page->count && page->spans[i].low == low && page->spans[i].high == high)
        return &page->spans[i]; /* most writes repeat one */
    while (end < page->count && page->spans[end].low < high)
        end++;
    bool has_left = i < end && page->spans[i].low < low,
         has_right = i < end && page->spans[end - 1].high > high;
    struct span left = has_left ? page->spans[i] : (struct span){0};
    struct span right = has_right ? page->spans[end - 1] : (struct span){0};
    int more = (has_left + 1 + has_right) - (int)(end - i);
    if (more && !shift(page, end, more))
        return NULL;
    if (has_left) {
        left.high = (uint16_t)low;
        page->spans[i++] = left;
    }
    if (has_right) {
        right.low = (uint16_t)high;
        page->spans[i + 1] = right;
    }
    page->spans[i] = (struct span){.low = (uint16_t)low, .high = (uint16_t)high};
    return &page->spans[i];
}

struct page *walk_table(struct walk *walk) {
    while (walk->next < walk->shadow->slots) {
        struct page *page = walk->shadow->table[walk->next++];
        if (page && page->number >= walk->low / SHADOW_PAGE && page->number <= walk->last)
            return refreshed(walk->shadow, page);
    }
    return NULL;
}
