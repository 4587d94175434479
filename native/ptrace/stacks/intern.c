/* A hash table of byte strings with their ids: see stacks/intern.h. The bytes are kept and compared, so that
 * two different stacks can never share an id. */
#include "stacks/intern.h"
#include "byte_strings.h"
#include "hash_table.h"
#include "trace/writer.h"

#include <stdlib.h>
#include <string.h>

struct item {
    uint64_t hash;
    uint64_t length;
    uint32_t id;
    uint8_t data[];
};

static inline bool items_used(struct item *const *slot) {
    return *slot != NULL;
}

static inline struct pc_bytes items_key(struct item *const *slot) {
    return (struct pc_bytes){(*slot)->data, (*slot)->length, (*slot)->hash};
}

static inline uint64_t items_hash(struct pc_bytes key) {
    return key.hash;
}

static inline bool items_same(struct pc_bytes one, struct pc_bytes other) {
    return pc_bytes_same(one, other);
}

PC_HASH_TABLE(items, struct item *, struct pc_bytes, 1024)

struct pc_intern {
    struct pc_writer *writer;
    uint32_t kind;
    struct items items;
};

struct pc_intern *pc_intern_new(struct pc_writer *writer, uint32_t table_kind) {
    struct pc_intern *intern = calloc(1, sizeof *intern);
    if (intern)
        *intern = (struct pc_intern){.writer = writer, .kind = table_kind};
    return intern;
}

void pc_intern_free(struct pc_intern *intern) {
    if (!intern)
        return;
    for (size_t i = 0; i < intern->items.size; i++)
        free(intern->items.slots[i]);
    items_free(&intern->items);
    free(intern);
}

uint32_t pc_intern_id(struct pc_intern *t, const void *data, uint64_t length) {
    struct pc_bytes key = pc_bytes_of(data, length);
    struct item **known = items_find(&t->items, key);
    if (known)
        return (*known)->id;
    uint32_t id = pc_writer_entry(t->writer, t->kind, data, length, 0);
    struct item *item = id ? malloc(sizeof *item + length) : 0;
    struct item **slot = item ? items_take(&t->items, key) : 0;
    if (!slot) {
        free(item);
        return id; /* not remembered: written again next time, which is correct */
    }
    item->hash = key.hash;
    item->length = length;
    item->id = id;
    memcpy(item->data, data, length);
    *slot = item;
    return id;
}
