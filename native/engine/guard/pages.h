/* What is known of each page of the pools, made when it is first asked for. */
#ifndef POWERCUT_GUARD_PAGES_H
#define POWERCUT_GUARD_PAGES_H

#include "map.h"

#include <stddef.h>

enum { PC_PAGE = 4096 };

struct pc_pages {
    size_t size; /* bytes that are kept of each page */
    struct pc_map by_number;
    void **pages;
    uint32_t count;
    uint64_t last_number; /* the one that was asked for last, */
    void *last;           /* NULL: none yet */
};

/* What is known of a page; all zero if it is new, which is told. NULL without memory. */
void *pc_page_of(struct pc_pages *pages, unsigned pool, uint64_t offset, bool *is_new);
void pc_pages_free(struct pc_pages *pages);

#endif
