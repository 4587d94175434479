/* Tables: immutable sorted files.
 *
 *     data blocks   entries, and a checksum
 *     index block   for each data block its last key, offset and length, and a checksum
 *     footer        where the index is, how many entries there are, magic, and a checksum
 *
 * A table is written from front to back and synced before anybody is told of it. */
#pragma once

#include "batch.h"

#include <stdbool.h>

struct table_builder {
    int fd;
    uint64_t number;
    uint64_t size; /* written so far */
    uint64_t entries;
    size_t block_limit;
    struct bytes block;
    struct bytes index;
    struct bytes smallest; /* key */
    struct bytes largest;
};

struct table {
    int fd;
    uint64_t number;
    uint64_t entries;
    struct bytes index;
};

struct table_iterator {
    struct table *table;
    struct decoder index; /* what is left of it */
    struct bytes block;
    struct decoder entries; /* what is left of the block */
    bool valid;
    struct entry entry; /* if valid */
};

void table_create(struct table_builder *builder, int dir, uint64_t number, size_t block_limit);
void table_add(struct table_builder *builder, const struct entry *entry); /* in the order of keys */

/* Writes what is left. The caller syncs `fd`, then closes. */
void table_finish(struct table_builder *builder);
void table_close_builder(struct table_builder *builder);

/* BUG_FOOTER_AFTER_SYNC needs the two halves of table_finish. */
void table_finish_data(struct table_builder *builder);
void table_finish_index(struct table_builder *builder);

struct table *table_open(int dir, uint64_t number);
void table_close(struct table *table);
bool table_get(struct table *table, struct slice key, struct entry *entry, struct bytes *block);

void table_iterate(struct table_iterator *iterator, struct table *table); /* stands at the first entry */
void table_next(struct table_iterator *iterator);
void table_iterator_free(struct table_iterator *iterator);
