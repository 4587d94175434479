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

struct page *shadow_find(struct shadow *shadow, uint64_t number); /* NULL: nothing there */

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

/* Walk over the pages of a range that exist, by address where that is cheap. */
struct walk {
    struct shadow *shadow;
    uint64_t low, high, next;
    bool by_table;
};
struct walk walk_over(struct shadow *shadow, uint64_t low, uint64_t high);
struct page *walk_next(struct walk *walk, unsigned *low, unsigned *high);

/* Forget everything, at once. */
static inline void shadow_empty(struct shadow *shadow) {
    shadow->age++;
}

#endif
