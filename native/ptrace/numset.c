/* Open addressing with linear probing, at most half full; removal moves later members back. */
#include "numset.h"

#include <stdlib.h>

static size_t home(const struct pc_numset *set, uint64_t number) {
    return (size_t)((number * 0x9E3779B97F4A7C15u) >> 32) & (set->capacity - 1);
}

/* The slot that holds `number`, or the free one where it belongs. Needs a set with a free slot. */
static size_t find(const struct pc_numset *set, uint64_t number) {
    size_t slot = home(set, number);
    while (set->slots[slot] != 0 && set->slots[slot] != number)
        slot = (slot + 1) & (set->capacity - 1);
    return slot;
}

static bool grow(struct pc_numset *set) {
    struct pc_numset larger = {.capacity = set->capacity == 0 ? 256 : set->capacity * 2};
    larger.slots = calloc(larger.capacity, sizeof(uint64_t));
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0)
            larger.slots[find(&larger, set->slots[i])] = set->slots[i];
    }
    larger.count = set->count;
    free(set->slots);
    *set = larger;
    return true;
}

bool pc_numset_add(struct pc_numset *set, uint64_t number) {
    if (number == 0 || pc_numset_has(set, number))
        return false;
    if ((set->count + 1) * 2 > set->capacity && !grow(set))
        return true;
    set->slots[find(set, number)] = number;
    set->count++;
    return true;
}

bool pc_numset_has(const struct pc_numset *set, uint64_t number) {
    return set->count > 0 && number != 0 && set->slots[find(set, number)] == number;
}

void pc_numset_remove(struct pc_numset *set, uint64_t number) {
    if (!pc_numset_has(set, number))
        return;
    size_t mask = set->capacity - 1;
    size_t hole = find(set, number);
    for (size_t slot = (hole + 1) & mask; set->slots[slot] != 0; slot = (slot + 1) & mask) {
        /* A member may fill the hole only if the hole lies between its home and itself. */
        size_t distance = (slot - home(set, set->slots[slot])) & mask;
        if (distance >= ((slot - hole) & mask)) {
            set->slots[hole] = set->slots[slot];
            hole = slot;
        }
    }
    set->slots[hole] = 0;
    set->count--;
}

void pc_numset_free(struct pc_numset *set) {
    free(set->slots);
    *set = (struct pc_numset){0};
}
