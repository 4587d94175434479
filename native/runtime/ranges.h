/* A set of addresses: few, sorted, disjoint ranges, found in O(log n). Used for pools and for what is
 * excluded. */
#ifndef POWERCUT_RANGES_H
#define POWERCUT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t low, high; /* high is the first address behind it */
};
struct ranges {
    struct range *at;
    size_t count, room;
};

/* False: no memory; the set is as it was. */
bool ranges_add(struct ranges *set, uint64_t low, uint64_t high);
bool ranges_remove(struct ranges *set, uint64_t low, uint64_t high);

size_t ranges_first(const struct ranges *set,
                    uint64_t address); /* the first one that ends behind an address */
bool ranges_touch(const struct ranges *set, uint64_t low, uint64_t high);
bool ranges_hold(const struct ranges *set, uint64_t low, uint64_t high); /* all of it */
void ranges_clear(struct ranges *set);
void ranges_free(struct ranges *set);

#endif
