/* A hash table of byte strings with their ids: see stacks/intern.h. The bytes are kept and compared, so that
 * two different stacks can never share an id. */
#include "stacks/intern.h"
#include "trace/writer.h"

#include <stdlib.h>
#include <string.h>

struct item {
    uint64_t hash;
    uint64_t length;
    uint32_t id;
    uint8_t data[];
};

struct pc_intern {
    struct pc_writer *writer;
    uint32_t kind;
    struct item **slots;
    uint64_t mask, count;
};

struct pc_intern *pc_intern_new(struct pc_writer *writer, uint32_t table_kind) {
    struct pc_intern *intern = calloc(1, sizeof *intern);
    if (!intern)
        return 0;
    *intern = (struct pc_intern){.writer = writer, .kind = table_kind, .mask = 1023};
    intern->slots = calloc(intern->mask + 1, sizeof *intern->slots);
    if (intern->slots)
        return intern;
    free(intern);
    return 0;
}

void pc_intern_free(struct pc_intern *intern) {
    if (!intern)
        return;
    for (uint64_t i = 0; i <= intern->mask; i++)
        free(intern->slots[i]);
    free(intern->slots);
    free(intern);
}

static uint64_t hash_of(const uint8_t *data, uint64_t length) {
    uint64_t h = length * 0x9e3779b97f4a7c15ull, word;
    for (; length >= 8; data += 8, length -= 8) {
        memcpy(&word, data, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, data, length);
    h = (h ^ word) * 0xc4ceb9fe1a85ec53ull;
    return h ^ h >> 29;
}

static struct item **find(const struct pc_intern *t, uint64_t hash, const void *data, uint64_t length) {
    for (uint64_t at = hash & t->mask;; at = (at + 1) & t->mask) {
        struct item *item = t->slots[at];
        if (!item || (item->hash == hash && item->length == length && memcmp(item->data, data, length) == 0))
            return &t->slots[at];
    }
}

static void grow(struct pc_intern *t) {
    struct item **old = t->slots;
    uint64_t old_size = t->mask + 1;
    struct item **slots = calloc(old_size * 2, sizeof *slots);
    if (!slots)
        return;
    t->slots = slots;
    t->mask = old_size * 2 - 1;
    for (uint64_t i = 0; i < old_size; i++)
        if (old[i])
            *find(t, old[i]->hash, old[i]->data, old[i]->length) = old[i];
    free(old);
}

uint32_t pc_intern_id(struct pc_intern *t, const void *data, uint64_t length) {
    uint64_t hash = hash_of(data, length);
    struct item **slot = find(t, hash, data, length);
    if (*slot)
        return (*slot)->id;
    uint32_t id = pc_writer_entry(t->writer, t->kind, data, length, 0);
    if (t->count * 2 > t->mask) {
        grow(t);
        slot = find(t, hash, data, length);
    }
    struct item *item = id && t->count < t->mask ? malloc(sizeof *item + length) : 0;
    if (!item)
        return id; /* not remembered: written again next time, which is correct */
    item->hash = hash;
    item->length = length;
    item->id = id;
    memcpy(item->data, data, length);
    *slot = item;
    t->count++;
    return id;
}
