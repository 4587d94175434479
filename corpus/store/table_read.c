/* Reading a table: by key, and from front to back. */
#include "env.h"
#include "table.h"
#include "table_format.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads a part, and compares and takes off its checksum. */
static void read_part(struct table *table, uint64_t offset, size_t length, struct bytes *into,
                      const char *what) {
    char name[NAME_SIZE];
    name_file(name, FILE_TABLE, table->number);
    must(length > PART_CHECKSUM, "%s: the %s is too short", name, what);
    read_at(table->fd, offset, length, into, name);
    into->length -= PART_CHECKSUM;
    struct decoder stored = {into->data + into->length, into->data + length, false};
    must(decode_u32(&stored) == checksum(0, into->data, into->length), "%s: the %s at %" PRIu64 " is damaged",
         name, what, offset);
}

struct table *table_open(int dir, uint64_t number) {
    char name[NAME_SIZE];
    struct bytes footer = {0};
    struct table *table = calloc(1, sizeof *table);
    must(table != NULL, "out of memory");
    table->number = number;
    table->fd = open_file(dir, name_file(name, FILE_TABLE, number), O_RDONLY);
    uint64_t size = file_size(table->fd);
    must(size >= TABLE_FOOTER, "%s has only %" PRIu64 " bytes", name, size);
    read_part(table, size - TABLE_FOOTER, TABLE_FOOTER, &footer, "footer");
    struct decoder decoder = decoder_of(bytes_slice(&footer));
    uint64_t offset = decode_u64(&decoder);
    uint32_t length = decode_u32(&decoder);
    table->entries = decode_u64(&decoder);
    must(decode_u64(&decoder) == number && decode_u64(&decoder) == TABLE_MAGIC, "%s is not that table", name);
    read_part(table, offset, length, &table->index, "index");
    bytes_free(&footer);
    return table;
}

void table_close(struct table *table) {
    close(table->fd);
    bytes_free(&table->index);
    free(table);
}

/* Reads the block of the next index entry whose last key is not smaller than `key` (any, if that is NULL). */
static bool next_block(struct table *table, struct decoder *index, const struct slice *key,
                       struct bytes *block) {
    while (index->at < index->end) {
        struct slice last = decode_slice(index);
        uint64_t offset = decode_u64(index);
        uint32_t length = decode_u32(index);
        must(!index->bad, "table %" PRIu64 ": the index is damaged", table->number);
        if (key == NULL || slice_compare(last, *key) >= 0) {
            read_part(table, offset, length, block, "block");
            return true;
        }
    }
    return false;
}

bool table_get(struct table *table, struct slice key, struct entry *entry, struct bytes *block) {
    struct decoder index = decoder_of(bytes_slice(&table->index));
    if (!next_block(table, &index, &key, block))
        return false;
    struct decoder entries = decoder_of(bytes_slice(block));
    while (entries.at < entries.end) {
        *entry = entry_decode(&entries);
        must(!entries.bad, "table %" PRIu64 ": an entry is damaged", table->number);
        int order = slice_compare(entry->key, key);
        if (order >= 0)
            return order == 0;
    }
    return false;
}

void table_iterate(struct table_iterator *iterator, struct table *table) {
    *iterator = (struct table_iterator){.table = table, .index = decoder_of(bytes_slice(&table->index))};
    table_next(iterator);
}

void table_next(struct table_iterator *iterator) {
    if (iterator->entries.at == iterator->entries.end) {
        iterator->valid = next_block(iterator->table, &iterator->index, NULL, &iterator->block);
        if (!iterator->valid)
            return;
        iterator->entries = decoder_of(bytes_slice(&iterator->block));
    }
    iterator->entry = entry_decode(&iterator->entries);
    iterator->valid = true;
    must(!iterator->entries.bad, "table %" PRIu64 ": an entry is damaged", iterator->table->number);
}

void table_iterator_free(struct table_iterator *iterator) {
    bytes_free(&iterator->block);
}
