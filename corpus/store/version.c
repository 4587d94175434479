/* Which tables make up the store, and how an edit changes that. */
#include "env.h"
#include "manifest.h"
#include "manifest_edit.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct table_info *version_find(const struct version *version, uint64_t number) {
    for (size_t i = 0; i < version->count; i++)
        if (version->tables[i].number == number)
            return &version->tables[i];
    return NULL;
}

size_t version_count(const struct version *version, uint32_t level) {
    size_t count = 0;
    for (size_t i = 0; i < version->count; i++)
        count += version->tables[i].level == level;
    return count;
}

static void free_info(struct table_info *info) {
    if (info->table != NULL)
        table_close(info->table);
    bytes_free(&info->smallest);
    bytes_free(&info->largest);
}

void version_free(struct version *version) {
    for (size_t i = 0; i < version->count; i++)
        free_info(&version->tables[i]);
    free(version->tables);
    *version = (struct version){0};
}

static void remove_table(struct version *version, uint64_t number) {
    const struct table_info *found = version_find(version, number);
    must(found != NULL, "the manifest removes table %" PRIu64 ", which is not there", number);
    size_t index = (size_t)(found - version->tables);
    free_info(&version->tables[index]);
    version->count--;
    memmove(&version->tables[index], &version->tables[index + 1],
            (version->count - index) * sizeof *version->tables);
}

static void add_table(struct version *version, const struct table_info *added) {
    must(version_find(version, added->number) == NULL, "the manifest adds table %" PRIu64 " twice",
         added->number);
    version->tables = realloc(version->tables, (version->count + 1) * sizeof *version->tables);
    must(version->tables != NULL, "out of memory");
    struct table_info *info = &version->tables[version->count++];
    *info = (struct table_info){.number = added->number, .level = added->level};
    bytes_set(&info->smallest, bytes_slice(&added->smallest));
    bytes_set(&info->largest, bytes_slice(&added->largest));
}

void version_apply(struct version *version, const struct edit *edit) {
    for (size_t i = 0; i < edit->removed_count; i++)
        remove_table(version, edit->removed[i]);
    for (size_t i = 0; i < edit->added_count; i++)
        add_table(version, &edit->added[i]);
    version->log_number = edit->log_number;
    version->last_sequence = edit->last_sequence;
}

void edit_encode(struct bytes *into, const struct edit *edit, uint64_t next_file) {
    bytes_add_u64(into, edit->log_number);
    bytes_add_u64(into, edit->last_sequence);
    bytes_add_u64(into, next_file);
    bytes_add_u32(into, (uint32_t)edit->removed_count);
    for (size_t i = 0; i < edit->removed_count; i++)
        bytes_add_u64(into, edit->removed[i]);
    bytes_add_u32(into, (uint32_t)edit->added_count);
    for (size_t i = 0; i < edit->added_count; i++) {
        bytes_add_u64(into, edit->added[i].number);
        bytes_add_u32(into, edit->added[i].level);
        bytes_add_slice(into, bytes_slice(&edit->added[i].smallest));
        bytes_add_slice(into, bytes_slice(&edit->added[i].largest));
    }
}

bool version_apply_encoded(struct version *version, struct slice record) {
    struct decoder decoder = decoder_of(record);
    uint64_t log_number = decode_u64(&decoder);
    uint64_t last_sequence = decode_u64(&decoder);
    uint64_t next_file = decode_u64(&decoder);
    uint32_t removed = decode_u32(&decoder);
    for (uint32_t i = 0; i < removed && !decoder.bad; i++)
        remove_table(version, decode_u64(&decoder));
    uint32_t added = decode_u32(&decoder);
    for (uint32_t i = 0; i < added && !decoder.bad; i++) {
        struct table_info info = {.number = decode_u64(&decoder)};
        info.level = decode_u32(&decoder);
        bytes_set(&info.smallest, decode_slice(&decoder));
        bytes_set(&info.largest, decode_slice(&decoder));
        add_table(version, &info);
        free_info(&info);
    }
    version->log_number = log_number;
    version->last_sequence = last_sequence;
    version->next_file = next_file;
    return !decoder.bad;
}
