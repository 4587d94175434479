/* A hash map with transactions. It grows by linear hashing: an insert that makes it too full splits one
 * bucket in two, so that no transaction is large. Buckets lie in segments, each as large as all before it. */
#include "bugs.h"
#include "hash.h"
#include "item.h"
#include "maps.h"
#include "pool.h"
#include "tx.h"

enum { FIRST = 16, SEGMENTS = 40 };

struct link {
    struct link *next;
    struct item *item;
};
struct map {
    uint64_t count;
    uint64_t buckets; /* 0: nothing was ever inserted */
    struct link **segment[SEGMENTS];
};

static unsigned segment_of(uint64_t bucket) {
    return bucket < FIRST ? 0 : 64 - (unsigned)__builtin_clzll(bucket / FIRST);
}

static uint64_t first_of(unsigned segment) {
    return segment ? (uint64_t)FIRST << (segment - 1) : 0;
}

static struct link **head_of(const struct map *map, uint64_t bucket) {
    unsigned segment = segment_of(bucket);
    return &map->segment[segment][bucket - first_of(segment)];
}

/* The most buckets of a whole number of doublings that there are already. */
static uint64_t whole(const struct map *map) {
    return (uint64_t)FIRST << (63 - __builtin_clzll(map->buckets / FIRST));
}

static uint64_t bucket_of(const struct map *map, uint64_t key) {
    uint64_t hash = hash_of(key), bucket = hash & (2 * whole(map) - 1);
    return bucket < map->buckets ? bucket : hash & (whole(map) - 1);
}

/* Where the link to a key is, or the end of its list. */
static struct link **find(const struct map *map, uint64_t key) {
    struct link **at = head_of(map, bucket_of(map, key));
    while (*at && (*at)->item->key != key)
        at = &(*at)->next;
    return at;
}

static void add_segment(struct map *map, unsigned segment) {
    size_t size = (segment ? first_of(segment) : FIRST) * sizeof(struct link *);
    struct link **heads = pool_alloc(size);
    if (!BUG(hash_segment_not_new))
        TX_NEW(heads, size);
    TX_ZERO(heads, size); // HERE hash-segment-not-new
    TX_OWN(&map->segment[segment]);
    TX_STORE(map->segment[segment], heads);
}

static void set_buckets(struct map *map, uint64_t buckets) {
    if (!BUG(hash_buckets_logged_late))
        TX_OWN(&map->buckets);
    TX_STORE(map->buckets, buckets); // HERE hash-buckets-logged-late
    TX_OWN(&map->buckets);
}

/* Some of a bucket's links go to the new last bucket. */
static void split_bucket(struct map *map) {
    uint64_t last = map->buckets;
    if (last == first_of(segment_of(last)))
        add_segment(map, segment_of(last));
    struct link **from = head_of(map, last - whole(map)), **to = head_of(map, last);
    set_buckets(map, last + 1);
    while (*from) {
        struct link *link = *from;
        if (bucket_of(map, link->item->key) != last) {
            from = &link->next;
            continue;
        }
        TX_OWN(from);
        TX_STORE(*from, link->next);
        if (!BUG(hash_split_next_unlogged))
            TX_OWN(&link->next);
        TX_STORE(link->next, *to); // HERE hash-split-next-unlogged
        if (!BUG(hash_split_head_unlogged))
            TX_OWN(to);
        TX_STORE(*to, link); // HERE hash-split-head-unlogged
    }
}

static void change_count(struct map *map, uint64_t by) {
    if (!BUG(hash_count_unlogged))
        TX_OWN(&map->count);
    TX_STORE(map->count, map->count + by); // HERE hash-count-unlogged
}

static void insert_new(struct map *map, uint64_t key, const void *value) {
    struct link **head = head_of(map, bucket_of(map, key)), *link = pool_alloc(sizeof *link);
    TX_NEW(link, sizeof *link);
    TX_STORE(link->item, item_new(key, value));
    TX_STORE(link->next, *head);
    if (!BUG(hash_head_unlogged))
        TX_OWN(head);
    if (BUG(hash_head_logged_twice))
        TX_ADD(head, sizeof *head); // HERE hash-head-logged-twice
    TX_STORE(*head, link);          // HERE hash-head-unlogged
    if (!BUG(hash_count_unfenced))
        change_count(map, 1);
    if (map->count > map->buckets)
        split_bucket(map);
}

static void start_map(struct map *map) {
    TX_BEGIN();
    add_segment(map, 0);
    set_buckets(map, FIRST);
    TX_END();
}

static void insert(void *root, uint64_t key, const void *value) {
    struct map *map = root;
    pc_tx_checker_start();
    TX_BEGIN();
    if (!map->buckets)
        start_map(map);
    struct link *link = *find(map, key);
    if (link)
        item_update(link->item, value);
    else
        insert_new(map, key, value);
    TX_END();
    if (!link && BUG(hash_count_unfenced)) {
        STORE(map->count, map->count + 1);     // HERE hash-count-unfenced
        FLUSH(&map->count, sizeof map->count); // HERE hash-count-unfenced
    }
    pc_tx_checker_end();
}

static void take(struct map *map, struct link **at) {
    struct link *link = *at;
    if (!BUG(hash_unlink_unlogged))
        TX_OWN(at);
    TX_STORE(*at, link->next); // HERE hash-unlink-unlogged
    change_count(map, (uint64_t)-1);
    item_free(link->item);
    tx_free(link, sizeof *link);
}

static bool remove_key(void *root, uint64_t key) {
    struct map *map = root;
    pc_tx_checker_start();
    TX_BEGIN(); // HERE hash-remove-not-ended
    struct link **at = map->buckets ? find(map, key) : NULL;
    bool is_there = at && *at;
    if (is_there)
        take(map, at);
    if (is_there || !BUG(hash_remove_not_ended))
        TX_END();
    pc_tx_checker_end();
    return is_there;
}

static const void *get(const void *root, uint64_t key) {
    const struct map *map = root;
    const struct link *link = map->buckets ? *find(map, key) : NULL;
    return link ? link->item->value : NULL;
}

static uint64_t count(const void *root) {
    return ((const struct map *)root)->count;
}

const struct map_type hashmap_tx = {"hashmap-tx", insert, remove_key, get, count, false};
