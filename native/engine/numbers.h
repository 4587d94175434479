/* A set of update numbers: open addressing, at most half full, so that asking costs one look on average. */
#ifndef POWERCUT_NUMBERS_H
#define POWERCUT_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct numbers {
    int32_t *slots; /* -1: free */
    uint32_t mask;  /* slots less one; a power of two less one */
    uint32_t count;
};

static inline uint32_t pc_numbers_place(uint32_t mask, int32_t number) {
    return ((uint32_t)number * 0x9E3779B1u >> 7) & mask;
}

/* An empty set with room for so many; false without memory. */
static inline bool pc_numbers_make(struct numbers *set, size_t room) {
    size_t slots = 16;
    while (slots < 2 * room) {
        slots *= 2;
    }
    set->slots = malloc(slots * sizeof(*set->slots));
    set->mask = (uint32_t)(slots - 1);
    set->count = 0;
    if (set->slots != NULL) {
        memset(set->slots, 0xff, slots * sizeof(*set->slots));
    }
    return set->slots != NULL;
}

static inline void pc_numbers_free(struct numbers *set) {
    free(set->slots);
    set->slots = NULL;
}

static inline bool pc_numbers_has(const struct numbers *set, int32_t number) {
    for (uint32_t at = pc_numbers_place(set->mask, number);; at = (at + 1) & set->mask) {
        if (set->slots[at] == number) {
            return true;
        }
        if (set->slots[at] < 0) {
            return false;
        }
    }
}

/* Adds a number: 1 if it is new, 0 if it was there, -1 without memory. */
static inline int pc_numbers_add(struct numbers *set, int32_t number) {
    if (2 * (set->count + 1) > set->mask + 1) {
        struct numbers larger;
        if (!pc_numbers_make(&larger, 2 * (size_t)(set->mask + 1))) {
            return -1;
        }
        for (uint32_t at = 0; at <= set->mask; at++) {
            if (set->slots[at] >= 0) {
                pc_numbers_add(&larger, set->slots[at]);
            }
        }
        free(set->slots);
        *set = larger;
    }
    uint32_t at = pc_numbers_place(set->mask, number);
    for (; set->slots[at] >= 0; at = (at + 1) & set->mask) {
        if (set->slots[at] == number) {
            return 0;
        }
    }
    set->slots[at] = number;
    set->count++;
    return 1;
}

#endif
