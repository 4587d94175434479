/* Pages and their writers: a table that only grows, changed without locks. */
#include "writers.h"

enum { THREAD_BITS = 16, MANY = 0xffff, MOST = WRITERS_SLOTS / 2, NEIGHBOURS = 8 };

/* Threads are numbered from 1; beyond the last number they start again, which can only hide a warning. */
static uint64_t entry_of(uint64_t page, uint32_t thread) {
    return page << THREAD_BITS | (thread % (MANY - 1) + 1);
}

/* Neighbours lie together: memory is most often written from page to page. */
static uint32_t slot_of(uint64_t page) {
    uint64_t line = (page / NEIGHBOURS * 0x9e3779b97f4a7c15u) >> 40;
    return (uint32_t)(line * NEIGHBOURS + page % NEIGHBOURS) % WRITERS_SLOTS;
}

void writers_note(struct writers *writers, uint64_t page, uint32_t thread) {
    uint64_t wanted = entry_of(page, thread);
    for (uint32_t slot = slot_of(page);; slot = (slot + 1) % WRITERS_SLOTS) {
        uint64_t seen = atomic_load(&writers->slot[slot]);
        if (seen == 0) {
            if (atomic_load(&writers->used) >= MOST)
                return; /* full: nothing is called needless any more */
            if (atomic_compare_exchange_strong(&writers->slot[slot], &seen, wanted)) {
                atomic_fetch_add(&writers->used, 1);
                return;
            }
        }
        if (seen >> THREAD_BITS == page) {
            if (seen != wanted)
                atomic_store(&writers->slot[slot], page << THREAD_BITS | MANY);
            return;
        }
    }
}

bool writers_include_others(struct writers *writers, uint64_t page, uint32_t thread) {
    if (atomic_load(&writers->used) >= MOST)
        return true;
    for (uint32_t slot = slot_of(page);; slot = (slot + 1) % WRITERS_SLOTS) {
        uint64_t seen = atomic_load(&writers->slot[slot]);
        if (seen == 0)
            return false;
        if (seen >> THREAD_BITS == page)
            return seen != entry_of(page, thread);
    }
}
