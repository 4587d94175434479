/* Sets of addresses as sorted arrays: they are small and rarely changed, and searched at each operation. */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

size_t ranges_first(const struct ranges *set, uint64_t address) {
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->at[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ranges_touch(const struct ranges *set, uint64_t low, uint64_t high) {
    size_t first = ranges_first(set, low);
    return first < set->count && set->at[first].low < high;
}

bool ranges_hold(const struct ranges *set, uint64_t low, uint64_t high) {
    size_t first = ranges_first(set, low);
    return first < set->count && set->at[first].low <= low && set->at[first].high >= high;
}

/* Put `added` (at most 2) in the place of `gone` ranges. */
static bool replace(struct ranges *set, size_t first, size_t gone, const struct range *new, size_t added) {
    size_t count = set->count - gone + added;
    if (count > set->room) {
        size_t room = 2 * count;
        struct range *bigger = realloc(set->at, room * sizeof *bigger);
        if (!bigger)
            return false;
        set->at = bigger;
        set->room = room;
    }
    if (count)
        memmove(set->at + first + added, set->at + first + gone, (set->count - first - gone) * sizeof *new);
    for (size_t i = 0; i < added; i++)
        set->at[first + i] = new[i];
    set->count = count;
    return true;
}

bool ranges_add(struct ranges *set, uint64_t low, uint64_t high) {
    if (low >= high)
        return true;
    size_t first = ranges_first(set, low ? low - 1 : 0),
           last = first; /* one that only touches is merged, too */
    while (last < set->count && set->at[last].low <= high) {
        if (set->at[last].low < low)
            low = set->at[last].low;
        if (set->at[last].high > high)
            high = set->at[last].high;
        last++;
    }
    return replace(set, first, last - first, &(struct range){low, high}, 1);
}

bool ranges_remove(struct ranges *set, uint64_t low, uint64_t high) {
    size_t first = ranges_first(set, low), last = first, left = 0;
    struct range rest[2];
    for (; last < set->count && set->at[last].low < high; last++) {
        struct range *range = &set->at[last];
        if (range->low < low)
            rest[left++] = (struct range){range->low, low};
        if (range->high > high)
            rest[left++] = (struct range){high, range->high};
    }
    return replace(set, first, last - first, rest, left);
}

void ranges_clear(struct ranges *set) {
    set->count = 0;
}

void ranges_free(struct ranges *set) {
    free(set->at);
    *set = (struct ranges){0};
}
