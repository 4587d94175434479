/* The memtable: the newest version of every key that is in the log and not yet in a table, sorted, as a skip
 * list. */
#pragma once

#include "batch.h"

#include <stdbool.h>

enum { MEMTABLE_LEVELS = 12 };

struct node;

struct memtable {
    struct node *first[MEMTABLE_LEVELS];
    size_t size;     /* bytes of keys and values that were added; replaced versions count, too */
    uint64_t random; /* for the heights of nodes */
};

void memtable_clear(struct memtable *table);

/* Adds a version, which must be newer than all there are. */
void memtable_add(struct memtable *table, const struct entry *entry);
bool memtable_get(const struct memtable *table, struct slice key, struct entry *entry);

/* The nodes in the order of keys: NULL is before the first and after the last. */
const struct node *memtable_next(const struct memtable *table, const struct node *node);
struct entry memtable_entry(const struct node *node);
