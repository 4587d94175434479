/* The pools that are guarded: files mapped by PMDK, and those the operator names.
 *
 * After a pool is mapped: the log is open, the pool has a number and a base, and each address in it can be
 * told as pool and offset. */
#ifndef POWERCUT_GUARD_POOLS_H
#define POWERCUT_GUARD_POOLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PC_POOLS_MOST    15
#define PC_MAPPINGS_MOST 64

/* An entry is never moved, since threads look at them at any time; one that is gone is empty. */
extern struct pc_mapping {
    uintptr_t low, high;
    uint64_t offset; /* in the file, of `low` */
    unsigned pool;
    uintptr_t private_low;          /* libpmemobj's notebook of transactions */
    _Atomic uintptr_t private_high; /* 0: not known */
} pc_mappings[PC_MAPPINGS_MOST];
extern _Atomic unsigned pc_mapping_count;

/* The notebook of the first pool: most of what libpmemobj writes goes there, and is let through at once. It
 * is set once; if the pool is unmapped, it is gone for good, since threads look at it at any time. */
extern uintptr_t pc_notebook;
extern _Atomic size_t pc_notebook_size;
static inline bool pc_is_note(const void *address) {
    size_t size = atomic_load_explicit(&pc_notebook_size, memory_order_acquire);
    return (uintptr_t)address - pc_notebook < size;
}

/* Where the notebook ends, 0: it is not there. A new pool gets its descriptor only by and by. */
uintptr_t pc_find_private(struct pc_mapping *mapping);

struct pc_place {
    unsigned pool; /* 0: in none, or in the notebook, which is of no use to anybody later */
    uint64_t offset;
};

static inline struct pc_place pc_place_of(const void *address) {
    uintptr_t at = (uintptr_t)address;
    unsigned count = atomic_load_explicit(&pc_mapping_count, memory_order_acquire);
    for (struct pc_mapping *mapping = pc_mappings; mapping < pc_mappings + count; mapping++) {
        if (at - mapping->low >= mapping->high - mapping->low)
            continue;
        uintptr_t high = atomic_load_explicit(&mapping->private_high, memory_order_acquire);
        if (__builtin_expect(!high, 0))
            high = pc_find_private(mapping);
        if (at < high && at >= mapping->private_low)
            break;
        return (struct pc_place){mapping->pool, mapping->offset + (at - mapping->low)};
    }
    return (struct pc_place){0, 0};
}

/* A pool that an earlier run mapped, by its file. */
void pc_pool_known(unsigned number, uint64_t device, uint64_t inode);
void pc_mapped(void *address, size_t size, int file, int64_t offset, const void *caller);
void pc_unmapped(const void *address, size_t size);

#endif
