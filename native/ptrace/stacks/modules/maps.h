/* The executable mappings of one process, from /proc/PID/maps.
 *
 * Before: the process exists. After pc_maps_read: mappings in address order; a forked child may share the
 * list of its parent, so lists are counted and never changed once read.
 */
#ifndef POWERCUT_STACKS_MODULES_MAPS_H
#define POWERCUT_STACKS_MODULES_MAPS_H

#include "stacks/modules/module.h"

struct pc_mapping {
    uint64_t start, end;
    uint64_t bias;            /* address in the process minus address in the file */
    struct pc_module *module; /* 0: memory without a file (JIT code, vdso) */
};

struct pc_maps {
    unsigned owners;
    unsigned count;
    const struct pc_mapping *python; /* the mapping of the file that exports _PyRuntime, or 0 */
    struct pc_mapping items[];
};

struct pc_maps *pc_maps_read(struct pc_modules *modules, pid_t pid);
struct pc_maps *pc_maps_share(struct pc_maps *maps);
void pc_maps_drop(struct pc_maps *maps);

static inline const struct pc_mapping *pc_maps_find(const struct pc_maps *maps, uint64_t address) {
    unsigned low = 0, high = maps->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (maps->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < maps->count && maps->items[low].start <= address ? &maps->items[low] : 0;
}

#endif
