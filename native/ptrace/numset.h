/* A set of 64-bit numbers other than 0 (inode numbers, hashes). A zeroed struct is an empty set. */
#ifndef POWERCUT_NUMSET_H
#define POWERCUT_NUMSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pc_numset {
    uint64_t *slots; /* 0: free */
    size_t capacity; /* a power of two */
    size_t count;
};

/* False if it was there already. Without memory the number is not kept, which callers must survive. */
bool pc_numset_add(struct pc_numset *set, uint64_t number);
bool pc_numset_has(const struct pc_numset *set, uint64_t number);
void pc_numset_remove(struct pc_numset *set, uint64_t number);
void pc_numset_free(struct pc_numset *set);

#endif
