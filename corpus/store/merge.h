/* The entries of a memtable and some tables as one sorted sequence, with the newest version of each key only.
 */
#pragma once

#include "memtable.h"
#include "table.h"

struct merge {
    const struct memtable *memtable; /* may be NULL */
    const struct node *node;         /* the next of it */
    struct table_iterator *tables;
    size_t count;
    size_t room;
    struct bytes key; /* of the entry that was given last */
    bool started;
};

void merge_start(struct merge *merge, const struct memtable *memtable, size_t tables);
void merge_add_table(struct merge *merge, struct table *table);

/* The next entry, tombstones too; false at the end. It is valid until the next call. */
bool merge_next(struct merge *merge, struct entry *entry);
void merge_free(struct merge *merge);
