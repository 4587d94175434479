/* The memtable: the newest version of every key that is in the log and not yet in a table, sorted, as a skip
 * list. */
#include "memtable.h"

#include "env.h"

#include <stdlib.h>
#include <string.h>

struct node {
    struct bytes key;
    struct bytes value;
    uint64_t sequence;
    enum change_kind kind;
    int levels;
    struct node *next[];
};

static void free_node(struct node *node) {
    bytes_free(&node->key);
    bytes_free(&node->value);
    free(node);
}

void memtable_clear(struct memtable *table) {
    for (struct node *node = table->first[0], *next; node != NULL; node = next) {
        next = node->next[0];
        free_node(node);
    }
    memset(table->first, 0, sizeof table->first);
    table->size = 0;
}

/* Each level holds a quarter of the nodes of the level below it. */
static int random_levels(struct memtable *table) {
    table->random = table->random * 6364136223846793005u + 1442695040888963407u;
    int levels = 1;
    for (uint64_t bits = table->random >> 33; levels < MEMTABLE_LEVELS && (bits & 3) == 0; bits >>= 2)
        levels++;
    return levels;
}

/* The first node whose key is not smaller; `links` gets the pointers, one for each level, that lead there. */
static struct node *seek(struct memtable *table, struct slice key, struct node **links[MEMTABLE_LEVELS]) {
    struct node **row = table->first;
    for (int level = MEMTABLE_LEVELS - 1; level >= 0; level--) {
        while (row[level] != NULL && slice_compare(bytes_slice(&row[level]->key), key) < 0)
            row = row[level]->next;
        links[level] = &row[level];
    }
    return *links[0];
}

void memtable_add(struct memtable *table, const struct entry *entry) {
    struct node **links[MEMTABLE_LEVELS];
    struct node *node = seek(table, entry->key, links);
    if (node == NULL || slice_compare(bytes_slice(&node->key), entry->key) != 0) {
        int levels = random_levels(table);
        node = calloc(1, sizeof *node + (size_t)levels * sizeof node->next[0]);
        must(node != NULL, "out of memory");
        node->levels = levels;
        bytes_set(&node->key, entry->key);
        for (int level = 0; level < levels; level++) {
            node->next[level] = *links[level];
            *links[level] = node;
        }
    }
    table->size += entry->key.length + entry->value.length;
    bytes_set(&node->value, entry->value);
    node->sequence = entry->sequence;
    node->kind = entry->kind;
}

struct entry memtable_entry(const struct node *node) {
    return (struct entry){bytes_slice(&node->key), node->sequence, node->kind, bytes_slice(&node->value)};
}

bool memtable_get(const struct memtable *table, struct slice key, struct entry *entry) {
    struct node **links[MEMTABLE_LEVELS];
    const struct node *node = seek((struct memtable *)table, key, links);
    if (node == NULL || slice_compare(bytes_slice(&node->key), key) != 0)
        return false;
    *entry = memtable_entry(node);
    return true;
}

const struct node *memtable_next(const struct memtable *table, const struct node *node) {
    return node == NULL ? table->first[0] : node->next[0];
}
