/* Writing a table from front to back. */
#include "env.h"
#include "table.h"
#include "table_format.h"

#include <unistd.h>

void table_create(struct table_builder *builder, int dir, uint64_t number, size_t block_limit) {
    char name[NAME_SIZE];
    *builder = (struct table_builder){.number = number, .block_limit = block_limit};
    builder->fd = create_file(dir, name_file(name, FILE_TABLE, number));
}

/* Writes a part of the file with its checksum behind it. */
static void write_part(struct table_builder *builder, struct bytes *part) {
    char name[NAME_SIZE];
    bytes_add_u32(part, checksum(0, part->data, part->length));
    write_all(builder->fd, bytes_slice(part), name_file(name, FILE_TABLE, builder->number));
    builder->size += part->length;
}

static void write_block(struct table_builder *builder) {
    if (builder->block.length == 0)
        return;
    uint64_t offset = builder->size;
    write_part(builder, &builder->block);
    bytes_add_slice(&builder->index, bytes_slice(&builder->largest));
    bytes_add_u64(&builder->index, offset);
    bytes_add_u32(&builder->index, (uint32_t)builder->block.length);
    bytes_clear(&builder->block);
}

void table_add(struct table_builder *builder, const struct entry *entry) {
    if (builder->entries == 0)
        bytes_set(&builder->smallest, entry->key);
    bytes_set(&builder->largest, entry->key);
    entry_encode(&builder->block, entry);
    builder->entries++;
    if (builder->block.length >= builder->block_limit)
        write_block(builder);
}

void table_finish_data(struct table_builder *builder) {
    write_block(builder);
}

void table_finish_index(struct table_builder *builder) {
    struct bytes footer = {0};
    uint64_t offset = builder->size;
    write_part(builder, &builder->index);
    bytes_add_u64(&footer, offset);
    bytes_add_u32(&footer, (uint32_t)builder->index.length);
    bytes_add_u64(&footer, builder->entries);
    bytes_add_u64(&footer, builder->number);
    bytes_add_u64(&footer, TABLE_MAGIC);
    write_part(builder, &footer);
    must(footer.length == TABLE_FOOTER, "the footer has %zu bytes", footer.length);
    bytes_free(&footer);
}

void table_finish(struct table_builder *builder) {
    table_finish_data(builder);
    table_finish_index(builder);
}

void table_close_builder(struct table_builder *builder) {
    close(builder->fd);
    bytes_free(&builder->block);
    bytes_free(&builder->index);
    bytes_free(&builder->smallest);
    bytes_free(&builder->largest);
}
