/* What is watched follows from three things: whether there is a session, the pools, and the mapped files. */
#include "watch.h"

#include "powercut.h"

#include <pthread.h>

struct watched pc_watched;
struct watched watched_ranges[WATCHED_MOST];
_Atomic uint32_t watched_count;

static struct {
    pthread_mutex_t lock;
    bool active;
    struct ranges pools, files;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set(struct watched *watched, uint64_t low, uint64_t size) {
    atomic_store_explicit(&watched->size, 0, memory_order_relaxed);
    atomic_store_explicit(&watched->low, low, memory_order_relaxed);
    atomic_store_explicit(&watched->size, size, memory_order_relaxed);
}

static void publish(void) {
    const struct ranges *ranges = watch.pools.count ? &watch.pools : &watch.files;
    size_t count = watch.active ? ranges->count : 0;
    uint32_t kept = count < WATCHED_MOST ? (uint32_t)count : WATCHED_MOST;
    for (uint32_t i = 0; i < kept; i++) {
        const struct range *last = &ranges->at[i == WATCHED_MOST - 1 ? count - 1 : i];
        set(&watched_ranges[i], ranges->at[i].low, last->high - ranges->at[i].low);
    }
    atomic_store(&watched_count, kept);
    set(&pc_watched, kept ? ranges->at[0].low : 0, kept ? ranges->at[count - 1].high - ranges->at[0].low : 0);
}

void watch_session(bool active) {
    pthread_mutex_lock(&watch.lock);
    watch.active = active;
    publish();
    pthread_mutex_unlock(&watch.lock);
}

void watch_pools(const struct ranges *pools) {
    pthread_mutex_lock(&watch.lock);
    ranges_clear(&watch.pools);
    for (size_t i = 0; i < pools->count; i++)
        ranges_add(&watch.pools, pools->at[i].low, pools->at[i].high);
    publish();
    pthread_mutex_unlock(&watch.lock);
}

void pc_watch_file_(const void *address, size_t size, int is_mapped) {
    uint64_t low = (uintptr_t)address, high = low + size;
    if (low >= high)
        return;
    pthread_mutex_lock(&watch.lock);
    if (is_mapped)
        ranges_add(&watch.files, low, high);
    else
        ranges_remove(&watch.files, low, high);
    publish();
    pthread_mutex_unlock(&watch.lock);
}

int pc_is_watched_(const volatile void *address) {
    return is_watched((uintptr_t)address);
}

int pc_is_file_(const void *address) {
    pthread_mutex_lock(&watch.lock);
    bool touches = ranges_touch(&watch.files, (uintptr_t)address, (uintptr_t)address + 1);
    pthread_mutex_unlock(&watch.lock);
    return touches;
}
