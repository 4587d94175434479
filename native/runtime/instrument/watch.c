/* What is watched follows from four things: whether there is a session, the pools, the mapped files, and what
 * is guarded. */
#include "watch.h"

#include "../quietly.h"
#include "powercut.h"

struct watched pc_watched;
struct watched_list recorded_list, guarded_list;

static struct {
    pthread_mutex_t lock;
    bool active;
    struct ranges pools, files, guarded;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set(struct watched *watched, uint64_t low, uint64_t size) {
    atomic_store_explicit(&watched->size, 0, memory_order_relaxed);
    atomic_store_explicit(&watched->low, low, memory_order_relaxed);
    atomic_store_explicit(&watched->size, size, memory_order_relaxed);
}

static void list(struct watched_list *to, const struct ranges *ranges) {
    uint32_t kept = ranges->count < WATCHED_MOST ? (uint32_t)ranges->count : WATCHED_MOST;
    for (uint32_t i = 0; i < kept; i++) {
        const struct range *last = &ranges->at[i == WATCHED_MOST - 1 ? ranges->count - 1 : i];
        set(&to->at[i], ranges->at[i].low, last->high - ranges->at[i].low);
    }
    atomic_store(&to->count, kept);
}

/* Makes a range reach around others. */
static void stretch(struct range *around, const struct ranges *ranges) {
    if (!ranges->count)
        return;
    uint64_t low = ranges->at[0].low, high = ranges->at[ranges->count - 1].high;
    around->low = around->high && around->low < low ? around->low : low;
    around->high = around->high > high ? around->high : high;
}

static void publish(void) {
    static const struct ranges none;
    const struct ranges *recorded = watch.pools.count ? &watch.pools : &watch.files;
    struct range around = {0, 0};
    recorded = watch.active ? recorded : &none;
    list(&recorded_list, recorded);
    list(&guarded_list, &watch.guarded);
    stretch(&around, recorded);
    stretch(&around, &watch.guarded);
    set(&pc_watched, around.low, around.high - around.low);
}

void watch_session(bool active) {
    struct quiet quiet = lock_quietly(&watch.lock);
    watch.active = active;
    publish();
    unlock_quietly(&watch.lock, &quiet);
}

void watch_pools(const struct ranges *pools) {
    struct quiet quiet = lock_quietly(&watch.lock);
    ranges_clear(&watch.pools);
    for (size_t i = 0; i < pools->count; i++)
        ranges_add(&watch.pools, pools->at[i].low, pools->at[i].high);
    publish();
    unlock_quietly(&watch.lock, &quiet);
}

static void watch_mapping(struct ranges *mappings, const void *address, size_t size, int is_mapped) {
    uint64_t low = (uintptr_t)address, high = low + size;
    if (low >= high)
        return;
    struct quiet quiet = lock_quietly(&watch.lock);
    if (is_mapped)
        ranges_add(mappings, low, high);
    else
        ranges_remove(mappings, low, high);
    publish();
    unlock_quietly(&watch.lock, &quiet);
}

void pc_watch_file_(const void *address, size_t size, int is_mapped) {
    watch_mapping(&watch.files, address, size, is_mapped);
}

void watch_guarded(const void *address, size_t size, int is_mapped) {
    watch_mapping(&watch.guarded, address, size, is_mapped);
}

int pc_is_watched_(const volatile void *address) {
    return is_watched((uintptr_t)address);
}

int pc_is_file_(const void *address) {
    struct quiet quiet = lock_quietly(&watch.lock);
    bool touches = ranges_touch(&watch.files, (uintptr_t)address, (uintptr_t)address + 1);
    unlock_quietly(&watch.lock, &quiet);
    return touches;
}
