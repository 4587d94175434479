/* A hash map without transactions: an entry is persistent before one store links it, and the count is marked
 * as not to be trusted while it is changed. */
#include "bugs.h"
#include "hash.h"
#include "maps.h"
#include "pool.h"
#include "track.h"

#include <stdbool.h>

#ifndef ATOMIC_BUCKETS
#define ATOMIC_BUCKETS (1 << 14)
#endif
enum { BUCKETS = ATOMIC_BUCKETS };

struct entry {
    struct entry *next;
    uint64_t key;
    unsigned char value[];
};
struct map {
    _Alignas(64) uint64_t count;
    _Alignas(64) uint64_t dirty; /* the count may be wrong */
    _Alignas(64) struct entry **heads;
};

static size_t entry_size(void) {
    return sizeof(struct entry) + pool->item_size;
}

static struct entry **find(const struct map *map, uint64_t key) {
    struct entry **at = &map->heads[hash_of(key) % BUCKETS];
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

static void start_map(struct map *map) {
    size_t size = BUCKETS * sizeof *map->heads;
    struct entry **heads = pool_alloc(size);
    memset(heads, 0, size);
    pc_write(heads, size);
    PERSIST(heads, size);
    STORE(map->heads, heads);
    pc_is_ordered_before(heads, size, &map->heads, sizeof map->heads);
    PERSIST(&map->heads, sizeof map->heads);
}

static void mark_dirty(struct map *map) {
    STORE(map->dirty, 1); // HERE atomic-dirty-after-count atomic-dirty-unfenced
    if (!BUG(atomic_dirty_after_count))
        FLUSH(&map->dirty, sizeof map->dirty);
    if (!BUG(atomic_dirty_after_count) && !BUG(atomic_dirty_unfenced))
        FENCE();
}

static void mark_clean(struct map *map) {
    STORE(map->dirty, 0); // HERE atomic-clean-unfenced
    pc_is_ordered_before(&map->count, sizeof map->count, &map->dirty, sizeof map->dirty);
    FLUSH(&map->dirty, sizeof map->dirty); // HERE atomic-clean-unfenced
    if (!BUG(atomic_clean_unfenced))
        FENCE();
    pc_is_persistent(&map->dirty, sizeof map->dirty);
}

static void change_count(struct map *map, uint64_t by) {
    mark_dirty(map);
    if (BUG(atomic_count_flushed_first))
        FLUSH(&map->count, sizeof map->count); // HERE atomic-count-flushed-first
    // HERE atomic-count-unflushed atomic-count-flushed-first atomic-clean-before-count
    STORE(map->count, map->count + by);
    pc_is_ordered_before(&map->dirty, sizeof map->dirty, &map->count, sizeof map->count);
    if (BUG(atomic_clean_before_count))
        mark_clean(map);
    if (!BUG(atomic_count_unflushed) && !BUG(atomic_count_flushed_first))
        FLUSH(&map->count, sizeof map->count);
    FENCE();
    if (!BUG(atomic_clean_before_count))
        mark_clean(map);
    pc_is_persistent(&map->count, sizeof map->count);
}

static struct entry *new_entry(uint64_t key, const void *value, struct entry *next) {
    struct entry *entry = pool_alloc(entry_size());
    // HERE atomic-entry-unflushed atomic-entry-unfenced atomic-entry-after-link
    // HERE atomic-swap-before-entry atomic-pointer-flushed
    STORE(entry->next, next);
    STORE(entry->key, key); // HERE atomic-entry-unflushed atomic-pointer-flushed
    // HERE atomic-entry-unflushed atomic-entry-partly-flushed atomic-pointer-flushed
    FILL(entry->value, value, pool->item_size);
    return entry;
}

/* With the mistakes that can be made of it. */
static void persist_entry(const struct entry *entry) {
    if (BUG(atomic_entry_partly_flushed))
        FLUSH(entry, sizeof *entry);
    else if (BUG(atomic_pointer_flushed))
        FLUSH(&entry, sizeof entry); // HERE atomic-pointer-flushed
    else if (!BUG(atomic_entry_unflushed))
        FLUSH(entry, entry_size());
    if (BUG(atomic_entry_flushed_twice))
        FLUSH(entry, entry_size()); // HERE atomic-entry-flushed-twice
    if (!BUG(atomic_entry_unfenced))
        FENCE();
}

static void link_entry(struct entry **at, struct entry *entry) {
    STORE(*at, entry); // HERE atomic-link-unflushed atomic-link-unfenced
    pc_is_ordered_before(entry, entry_size(), at, sizeof *at);
    if (BUG(atomic_link_overflushed))
        FLUSH(at, 2 * LINE); // HERE atomic-link-overflushed
    else if (!BUG(atomic_link_unflushed))
        FLUSH(at, sizeof *at);
    if (!BUG(atomic_link_unfenced))
        FENCE();
    pc_is_persistent(at, sizeof *at);
}

static void insert(void *root, uint64_t key, const void *value) {
    struct map *map = root;
    if (!map->heads)
        start_map(map);
    struct entry **at = find(map, key), *old = *at;
    struct entry *entry = new_entry(key, value, old ? old->next : *at);
    bool late = BUG(atomic_entry_after_link) || (old && BUG(atomic_swap_before_entry));
    if (!late)
        persist_entry(entry);
    link_entry(at, entry);
    if (late)
        persist_entry(entry);
    pc_is_persistent(entry, entry_size());
    if (old)
        pool_free(old, entry_size());
    else
        change_count(map, 1);
}

static bool remove_key(void *root, uint64_t key) {
    struct map *map = root;
    struct entry **at = map->heads ? find(map, key) : NULL, *entry = at ? *at : NULL;
    if (!entry)
        return false;
    STORE(*at, entry->next); // HERE atomic-unlink-unflushed
    if (!BUG(atomic_unlink_unflushed))
        FLUSH(at, sizeof *at);
    FENCE();
    pc_is_persistent(at, sizeof *at);
    change_count(map, (uint64_t)-1);
    pool_free(entry, entry_size());
    return true;
}

static const void *get(const void *root, uint64_t key) {
    const struct map *map = root;
    const struct entry *entry = map->heads ? *find(map, key) : NULL;
    return entry ? entry->value : NULL;
}

static uint64_t count(const void *root) {
    const struct map *map = root;
    return map->dirty ? UNSURE : map->count;
}

const struct map_type hashmap_atomic = {"hashmap-atomic", insert, remove_key, get, count, true};
