/* The entries of a memtable and some tables as one sorted sequence, with the newest version of each key only.
 */
#include "merge.h"

#include "env.h"

#include <stdlib.h>

void merge_start(struct merge *merge, const struct memtable *memtable, size_t tables) {
    *merge = (struct merge){.memtable = memtable, .room = tables};
    merge->tables = calloc(tables > 0 ? tables : 1, sizeof *merge->tables);
    must(merge->tables != NULL, "out of memory");
    if (memtable != NULL)
        merge->node = memtable_next(memtable, NULL);
}

void merge_add_table(struct merge *merge, struct table *table) {
    must(merge->count < merge->room, "more tables to merge than were announced");
    table_iterate(&merge->tables[merge->count++], table);
}

/* Whether an entry comes before another: a smaller key, or a newer version of the same. */
static bool comes_before(const struct entry *entry, const struct entry *other) {
    int order = slice_compare(entry->key, other->key);
    return order < 0 || (order == 0 && entry->sequence > other->sequence);
}

/* Moves all sources behind the key that was given last. */
static void skip_given_key(struct merge *merge) {
    struct slice key = bytes_slice(&merge->key);
    while (merge->node != NULL && slice_compare(memtable_entry(merge->node).key, key) <= 0)
        merge->node = memtable_next(merge->memtable, merge->node);
    for (size_t i = 0; i < merge->count; i++)
        while (merge->tables[i].valid && slice_compare(merge->tables[i].entry.key, key) <= 0)
            table_next(&merge->tables[i]);
}

bool merge_next(struct merge *merge, struct entry *entry) {
    if (merge->started)
        skip_given_key(merge);
    bool found = merge->node != NULL;
    if (found)
        *entry = memtable_entry(merge->node);
    for (size_t i = 0; i < merge->count; i++) {
        const struct table_iterator *source = &merge->tables[i];
        if (source->valid && (!found || comes_before(&source->entry, entry))) {
            *entry = source->entry;
            found = true;
        }
    }
    if (found)
        bytes_set(&merge->key, entry->key);
    merge->started = true;
    return found;
}

void merge_free(struct merge *merge) {
    for (size_t i = 0; i < merge->count; i++)
        table_iterator_free(&merge->tables[i]);
    free(merge->tables);
    bytes_free(&merge->key);
}
