/* The five maps, from numbers to values of one size (`pool->item_size`). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNSURE UINT64_MAX

struct map_type {
    const char *name;
    void (*insert)(void *root, uint64_t key, const void *value); /* or give the key a new value */
    bool (*remove)(void *root, uint64_t key);                    /* whether it was there */
    const void *(*get)(const void *root, uint64_t key);          /* its value, NULL if it is not there */
    uint64_t (*count)(const void *root);                         /* of items; UNSURE while it is changed */
    bool counts_later; /* an operation that is under way may not be counted yet */
};

/* A root of zeros is an empty map. */
extern const struct map_type ctree, btree, rbtree, hashmap_tx, hashmap_atomic;
