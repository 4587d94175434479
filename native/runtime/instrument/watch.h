/* The addresses whose stores are recorded: the pools that the program registered, or, if it registered none,
 * the files that it mapped. And those that are guarded (guarded.h), session or not. */
#ifndef POWERCUT_WATCH_H
#define POWERCUT_WATCH_H

#include "../ranges.h"

#include <stdatomic.h>

enum { WATCHED_MOST = 32 }; /* ranges; the last one takes in what is more */

/* One range around all: the first look at every store. A size of 0: nothing is watched now. */
struct watched {
    _Atomic uint64_t low, size;
};
extern struct watched pc_watched;
struct watched_list {
    struct watched at[WATCHED_MOST];
    _Atomic uint32_t count;
};
extern struct watched_list recorded_list, guarded_list;

static inline bool is_in(const struct watched_list *list, uint64_t address) {
    uint32_t count = atomic_load_explicit(&list->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t low = atomic_load_explicit(&list->at[i].low, memory_order_relaxed);
        if (address - low < atomic_load_explicit(&list->at[i].size, memory_order_relaxed))
            return true;
    }
    return false;
}

/* Whether a store at an address is to be recorded. */
static inline bool is_watched(uint64_t address) {
    return is_in(&recorded_list, address);
}

/* A session begins or ends; the program's pools are others than before. */
void watch_session(bool active);
void watch_pools(const struct ranges *pools);
/* A guarded mapping comes, or goes. */
void watch_guarded(const void *address, size_t size, int is_mapped);

#endif
