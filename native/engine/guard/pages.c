#include "guard/pages.h"

enum { POOL_SHIFT = 56 };

/* Room for a pointer more: the array doubles when its length is a power of two. */
static bool grow(struct pc_pages *pages) {
    uint32_t count = pages->count;
    if (count & (count - 1))
        return true;
    void **larger = realloc(pages->pages, (count ? 2 * (size_t)count : 1) * sizeof *larger);
    if (larger)
        pages->pages = larger;
    return larger != NULL;
}

void *pc_page_of(struct pc_pages *pages, unsigned pool, uint64_t offset, bool *is_new) {
    uint64_t number = (uint64_t)pool << POOL_SHIFT | offset / PC_PAGE;
    *is_new = false;
    if (pages->last && pages->last_number == number)
        return pages->last;
    uint32_t found = pc_map_get(&pages->by_number, number);
    if (!found) {
        void *fresh = grow(pages) ? calloc(1, pages->size) : NULL;
        if (!fresh || !pc_map_put(&pages->by_number, number, pages->count + 1)) {
            free(fresh);
            return NULL;
        }
        pages->pages[pages->count] = fresh;
        found = ++pages->count;
        *is_new = true;
    }
    pages->last_number = number;
    return pages->last = pages->pages[found - 1];
}

void pc_pages_free(struct pc_pages *pages) {
    for (uint32_t i = 0; i < pages->count; i++)
        free(pages->pages[i]);
    free(pages->pages);
    free(pages->by_number.slots);
}
