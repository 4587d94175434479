/* A map of keys to values, in two forms: a hash table and a B+ tree. All functions may be called by several
 * threads at once, but for those that make, recover and check a map.
 *
 * A value says which key it was made for, and its version. Versions of a key only grow: a copy of another
 * key's value is never newer than that value. That is what a check can see. */
#pragma once

#include "pool.h"

#define FRESH 0 /* instead of a value: a new one is made, while the key is locked */

struct map {
    const char *name;
    void (*make)(struct worker *self);
    void (*put)(struct worker *self, uint64_t key, uint64_t value);
    uint64_t (*get)(struct worker *self, uint64_t key); /* the value, 0 if there is none */
    bool (*remove)(struct worker *self, uint64_t key);
    void (*recover)(void);
    void (*check)(void); /* refuses what is damaged, before anything is recovered */
};

extern const struct map table_map, tree_map;

/* A value: the version, a bit that says that the key was removed, and the key. A key that was removed stays
 * in its slot: so a check can tell one that was removed from one that a power cut took. */
enum { KEY_BITS = 17, GONE = 1 << KEY_BITS, VERSION_SHIFT = KEY_BITS + 1 };

/* A value of a newer version than all before. */
uint64_t fresh_value(uint64_t key);

static inline uint64_t value_key(uint64_t value) {
    return value & (GONE - 1);
}

static inline uint64_t value_version(uint64_t value) {
    return value >> VERSION_SHIFT;
}

static inline bool is_there(uint64_t value) {
    return value && !(value & GONE);
}

/* What a check found: every key of the map once, with its value. */
void found(uint64_t key, uint64_t value);

/* Of a key that was found: its value; 0 if it was not. */
uint64_t found_value(uint64_t key);
