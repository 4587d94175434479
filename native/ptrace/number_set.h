/* A set of 64-bit numbers other than 0 (inode numbers, hashes). A zeroed struct is an empty set. */
#ifndef POWERCUT_NUMBER_SET_H
#define POWERCUT_NUMBER_SET_H

#include "hash_table.h"

static inline bool pc_number_set_used(const uint64_t *slot) {
    return *slot != 0;
}

static inline uint64_t pc_number_set_key(const uint64_t *slot) {
    return *slot;
}

static inline uint64_t pc_number_set_hash(uint64_t number) {
    return number * PC_GOLDEN >> 32;
}

static inline bool pc_number_set_same(uint64_t one, uint64_t other) {
    return one == other;
}

PC_HASH_TABLE(pc_number_set, uint64_t, uint64_t, 256)

static inline bool pc_number_set_has(const struct pc_number_set *set, uint64_t number) {
    return number != 0 && pc_number_set_find(set, number) != NULL;
}

/* False if it was there already. Without memory the number is not kept, which callers must survive. */
static inline bool pc_number_set_add(struct pc_number_set *set, uint64_t number) {
    uint64_t *slot = number == 0 ? NULL : pc_number_set_take(set, number);
    if (slot == NULL)
        return number != 0;
    bool is_new = *slot == 0;
    *slot = number;
    return is_new;
}

static inline void pc_number_set_drop(struct pc_number_set *set, uint64_t number) {
    uint64_t *slot = number == 0 ? NULL : pc_number_set_find(set, number);
    if (slot != NULL)
        pc_number_set_remove(set, slot);
}

#endif
