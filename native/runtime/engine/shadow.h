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
struct page {
    uint64_t number;
    uint32_t age; /* that of the shadow when it was last emptied */
    uint16_t count, room;
    struct span *spans;
};
struct shadow {
    struct page **table; /* open addressing, a power of 2 */
    size_t slots, count, limit;
    uint32_t age;
    size_t hand; /* where the search for pages to drop goes on */
    struct page *last;
};

void shadow_open(struct shadow *shadow, size_t most_pages);
void shadow_close(struct shadow *shadow);

struct page *shadow_search(struct shadow *shadow, uint64_t number);

/* The page of a number; NULL: nothing there. Most often it is the one that was asked for last. */
static inline struct page *shadow_find(struct shadow *shadow, uint64_t number) {
    struct page *last = shadow->last;
    bool same = last && last->number == number && last->age == shadow->age;
    return __builtin_expect(same, 1) ? last : shadow_search(shadow, number);
}

/* The page, made if need be. `dead` says which pages may be dropped when there are too many; NULL: no room.
 */
struct page *shadow_make(struct shadow *shadow, uint64_t number,
                         bool (*dead)(const void *, const struct page *), const void *with);

/* The first span of a page that ends behind an offset; `count` if there is none. */
unsigned page_first(const struct page *page, unsigned offset);

/* Make [low, high) of a page one span, in the place of whatever is there; NULL: no memory. */
struct span *page_set(struct page *page, unsigned low, unsigned high);
bool page_clear(struct page *page, unsigned low, unsigned high);
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

/* Forget everything, at once. */
static inline void shadow_empty(struct shadow *shadow) {
    shadow->age++;
}

#endif
