/* A key with its value: what the transactional maps hold. */
#pragma once

#include <stdint.h>

struct item {
    uint64_t key;
    unsigned char value[];
};

/* All within a transaction. */
struct item *item_new(uint64_t key, const void *value);
void item_update(struct item *item, const void *value);
void item_free(struct item *item);
