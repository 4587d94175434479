/* A small map from numbers (inodes, threads, places) to numbers that count from 1. */
#ifndef POWERCUT_MAP_H
#define POWERCUT_MAP_H

#include "hash_table.h"

struct pc_map_entry {
    uint64_t key;
    uint32_t value; /* 0: free slot */
};

static inline bool pc_map_used(const struct pc_map_entry *entry) {
    return entry->value != 0;
}

static inline uint64_t pc_map_key(const struct pc_map_entry *entry) {
    return entry->key;
}

static inline uint64_t pc_map_hash(uint64_t key) {
    return key * PC_GOLDEN >> 32;
}

static inline bool pc_map_same(uint64_t one, uint64_t other) {
    return one == other;
}

PC_HASH_TABLE(pc_map, struct pc_map_entry, uint64_t, 64)

/* The number of a key; 0: none. */
static inline uint32_t pc_map_get(const struct pc_map *map, uint64_t key) {
    const struct pc_map_entry *entry = pc_map_find(map, key);
    return entry == NULL ? 0 : entry->value;
}

/* Gives a key a number; false without memory. */
static inline bool pc_map_put(struct pc_map *map, uint64_t key, uint32_t value) {
    struct pc_map_entry *entry = pc_map_take(map, key);
    if (entry != NULL) {
        *entry = (struct pc_map_entry){key, value};
    }
    return entry != NULL;
}

#endif
