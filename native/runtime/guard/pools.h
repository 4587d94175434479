/* The pools that are guarded: files mapped by PMDK, and those the operator names.
 *
 * After a pool is mapped: the log is open, the pool has a number and a base, and each address in it can be
 * told as pool and offset. */
#ifndef POWERCUT_GUARD_POOLS_H
#define POWERCUT_GUARD_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PC_POOLS_MOST 15

struct pc_place {
    unsigned pool; /* 0: in none */
    uint64_t offset;
    bool private; /* libpmemobj's notebook of transactions under way: of no use to anybody later */
};
struct pc_place pc_place_of(const void *address);

/* A pool that an earlier run mapped, by its file. */
void pc_pool_known(unsigned number, uint64_t device, uint64_t inode);
void pc_mapped(void *address, size_t size, int file, int64_t offset, const void *caller);
void pc_unmapped(const void *address, size_t size);

#endif
