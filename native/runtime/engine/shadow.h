/* Shadow memory: for each byte that the program wrote, when and where it was written and flushed.
 *
 * Bytes with the same history are one span; spans lie sorted in pages of 4 KB, pages in a hash table. An
 * operation costs a look-up for each page and O(log n) in it, however much was tracked before. */
#ifndef POWERCUT_SHADOW_H
#define POWERCUT_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHADOW_PAGE = 4096, SHADOW_LINE = 64 };

struct span {
    uint16_t low, high; /* in the page */
    uint16_t flags;
    uint32_t write_site, flush_site;
    uint64_t written, flushed; /* times; 0: not flushed since */
};
/* Flags of a span: allocated in this transaction, so that it needs no backup (in a log); written back only by
 * a flush of other bytes of its line. */
enum { IS_NEW = 1, BY_LUCK = 2 };
struct page {
    uint64_t number;
    uint32_t age; /* that of the shadow when it was last emptied */
    uint16_t count, room;
    uint16_t recent;      /* a span that was found last, or any number */
    struct page *younger; /* the next to be dropped */
    struct span *spans;   /* those here, until they are too few */
    struct span few[3];
};

/* Pages of one thread. Up to `enough` are kept whatever is in them; beyond that those that nobody can miss
 * are dropped, and beyond `most` no new one is made. */
struct shadow {
    struct page **table; /* open addressing, a power of 2 */
    size_t slots, count, enough, most;
    unsigned shift; /* 64 less the bits of a slot's number */
    uint32_t age;
    struct page *oldest, *youngest;
    struct page *recent[16];
    struct page *unused; /* linked by their spans */
    struct slab *slabs;
};

void shadow_open(struct shadow *shadow, size_t enough, size_t most);
void shadow_close(struct shadow *shadow);

struct page *shadow_search(struct shadow *shadow, uint64_t number);

/* The page of a number; NULL: nothing there. Most often it is one that was asked for just before. */
static inline struct page *shadow_find(struct shadow *shadow, uint64_t number) {
    struct page *recent = shadow->recent[number % 16];
    bool same = recent && recent->number == number && recent->age == shadow->age;
    return __builtin_expect(same, 1) ? recent : shadow_search(shadow, number);
}

/* Whether a page may be dropped. */
typedef bool (*is_dead)(const void *with, const struct page *page);

/* The page, made if need be; NULL: no room. */
struct page *shadow_make(struct shadow *shadow, uint64_t number, is_dead dead, const void *with);

unsigned page_search(const struct page *page, unsigned offset);

/* The first span of a page that ends behind an offset; `count` if there is none. */
static inline unsigned page_first(struct page *page, unsigned offset) {
    unsigned i = page->recent;
    if (i < page->count && page->spans[i].low <= offset && page->spans[i].high > offset)
        return i;
    if (page->count == 0 || page->spans[page->count - 1].high <= offset)
        return page->count; /* memory is often written from its start to its end */
    i = page_search(page, offset);
    page->recent = (uint16_t)i;
    return i;
}

/* Make [low, high) of a page one span, in the place of whatever is there; NULL: no memory. */
struct span *page_set(struct page *page, unsigned low, unsigned high);
bool page_clear(struct page *page, unsigned low, unsigned high);

/* Make a crowded page smaller: for each span, and the one that ends where it begins (NULL: none), say what
 * becomes of it. */
enum tidy { TIDY_KEEP, TIDY_JOIN, TIDY_DROP };
void page_tidy(struct page *page, enum tidy (*judge)(const void *, const struct span *, const struct span *),
               const void *with);
bool page_split(struct page *page, unsigned offset); /* no span lies across it afterwards */

/* Walk over the pages of a range that exist: by address, or, of a range larger than all that is kept, by the
 * table. */
struct walk {
    struct shadow *shadow;
    uint64_t low, high, next, last;
    bool by_table;
};
struct page *walk_table(struct walk *walk);

static inline struct walk walk_over(struct shadow *shadow, uint64_t low, uint64_t high) {
    uint64_t first = low / SHADOW_PAGE, last = (high - 1) / SHADOW_PAGE;
    bool by_table = last - first > shadow->slots;
    return (struct walk){shadow, low, high, by_table ? 0 : first, last, by_table};
}

/* The next page, and which part of it belongs to the range; NULL at the end. */
static inline struct page *walk_next(struct walk *walk, unsigned *low, unsigned *high) {
    struct page *page = NULL;
    if (__builtin_expect(walk->by_table, 0))
        page = walk_table(walk);
    else
        while (!page && walk->next <= walk->last)
            page = shadow_find(walk->shadow, walk->next++);
    if (page) {
        *low = page->number == walk->low / SHADOW_PAGE ? walk->low % SHADOW_PAGE : 0;
        *high = page->number == walk->last ? (walk->high - 1) % SHADOW_PAGE + 1 : SHADOW_PAGE;
    }
    return page;
}

/* The span that covers all of a range; NULL if it takes several, or none does. */
static inline struct span *shadow_covering(struct shadow *shadow, uint64_t low, uint64_t high) {
    struct page *page = shadow_find(shadow, low / SHADOW_PAGE);
    if (!page || (low ^ (high - 1)) >= SHADOW_PAGE)
        return NULL;
    unsigned from = low % SHADOW_PAGE, i = page_first(page, from);
    if (i == page->count || page->spans[i].low > from || page->spans[i].high - from < high - low)
        return NULL;
    return &page->spans[i];
}

/* Forget everything, at once. */
static inline void shadow_empty(struct shadow *shadow) {
    shadow->age++;
}

#endif
