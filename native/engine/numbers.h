/* A set of numbers from 0 on, of updates or objects. Asking costs one look on average. */
#ifndef POWERCUT_NUMBERS_H
#define POWERCUT_NUMBERS_H

#include "hash_table.h"

typedef uint32_t pc_number_slot; /* one more than the number; 0: free */

static inline bool pc_numbers_used(const pc_number_slot *slot) {
    return *slot != 0;
}

static inline int32_t pc_numbers_key(const pc_number_slot *slot) {
    return (int32_t)(*slot - 1);
}

static inline uint64_t pc_numbers_hash(int32_t number) {
    return (uint32_t)number * 0x9E3779B1u >> 7;
}

static inline bool pc_numbers_same(int32_t one, int32_t other) {
    return one == other;
}

PC_HASH_TABLE(pc_numbers, pc_number_slot, int32_t, 16)

static inline bool pc_numbers_has(const struct pc_numbers *set, int32_t number) {
    return pc_numbers_find(set, number) != NULL;
}

/* Adds a number: 1 if it is new, 0 if it was there, -1 without memory. */
static inline int pc_numbers_add(struct pc_numbers *set, int32_t number) {
    pc_number_slot *slot = pc_numbers_take(set, number);
    if (slot == NULL) {
        return -1;
    }
    bool is_new = *slot == 0;
    *slot = (uint32_t)number + 1;
    return is_new;
}

#endif
