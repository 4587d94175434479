/* A small map from numbers (inodes, threads, places) to numbers that count from 1. */
#ifndef POWERCUT_MAP_H
#define POWERCUT_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct pc_map_entry {
    uint64_t key;
    uint32_t value; /* 0: free slot */
};

struct pc_map {
    struct pc_map_entry *slots;
    uint32_t count, mask; /* slots less one; a power of two less one, or 0 before the first entry */
};

/* The slot of a key, or the free one where it belongs; only for maps that have slots. */
static inline struct pc_map_entry *pc_map_slot(const struct pc_map *map, uint64_t key) {
    uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15ull >> 32) & map->mask;
    while (map->slots[at].value != 0 && map->slots[at].key != key) {
        at = (at + 1) & map->mask;
    }
    return &map->slots[at];
}

/* The number of a key; 0: none. */
static inline uint32_t pc_map_get(const struct pc_map *map, uint64_t key) {
    return map->slots == NULL ? 0 : pc_map_slot(map, key)->value;
}

/* Gives a key a number; false without memory. */
static inline bool pc_map_put(struct pc_map *map, uint64_t key, uint32_t value) {
    if (map->slots == NULL || 2 * (map->count + 1) > map->mask) {
        uint32_t slots = map->slots == NULL ? 64 : 2 * (map->mask + 1);
        struct pc_map larger = {.slots = calloc(slots, sizeof(*larger.slots)), .mask = slots - 1};
        if (larger.slots == NULL) {
            return false;
        }
        for (uint32_t at = 0; map->slots != NULL && at <= map->mask; at++) {
            if (map->slots[at].value != 0) {
                *pc_map_slot(&larger, map->slots[at].key) = map->slots[at];
            }
        }
        larger.count = map->count;
        free(map->slots);
        *map = larger;
    }
    struct pc_map_entry *slot = pc_map_slot(map, key);
    map->count += slot->value == 0;
    *slot = (struct pc_map_entry){key, value};
    return true;
}

#endif
