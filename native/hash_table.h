/* The hash table of the C parts: open addressing with linear probing, at most half full. Where a part has one
 * of its own, its head comment says what is special there.
 *
 * Before PC_HASH_TABLE(NAME, SLOT, KEY, FIRST): the type SLOT, all of whose zeroed values are free slots, and
 *
 *   bool NAME_used(const SLOT *slot)      whether it is taken
 *   KEY NAME_key(const SLOT *slot)        what a taken one is found by
 *   uint64_t NAME_hash(KEY key)           of which the low bits count
 *   bool NAME_same(KEY one, KEY other)
 *
 * After: struct NAME, which is an empty table when zeroed, has FIRST slots (a power of two) when it first
 * needs some, and is walked by looking at `size` slots; and
 *
 *   SLOT *NAME_find(table, key)           NULL: it is not there
 *   SLOT *NAME_take(table, key)           its slot or, if NAME_used says so, a free one, which counts as
 * taken from now on: the caller must fill it. NULL without memory void NAME_remove(table, slot)         other
 * slots may move bool NAME_reserve(table, count)       room for so many, so that taking them needs no memory
 *   void NAME_free(table)
 */
#ifndef POWERCUT_HASH_TABLE_H
#define POWERCUT_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* 2^64 by the golden ratio: multiples of it lie far from each other. */
#define PC_GOLDEN 0x9E3779B97F4A7C15u

#define PC_HASH_TABLE(NAME, SLOT, KEY, FIRST)                                                                \
    struct NAME {                                                                                            \
        SLOT *slots;                                                                                         \
        size_t size, count; /* a power of two, or 0; slots that are taken */                                 \
    };                                                                                                       \
                                                                                                             \
    /* The slot of a key, or the free one where it belongs; only for tables that have slots. */              \
    static inline SLOT *NAME##_probe(const struct NAME *table, KEY key) {                                    \
        size_t mask = table->size - 1, at = (size_t)NAME##_hash(key) & mask;                                 \
        while (NAME##_used(&table->slots[at]) && !NAME##_same(NAME##_key(&table->slots[at]), key))           \
            at = (at + 1) & mask;                                                                            \
        return &table->slots[at];                                                                            \
    }                                                                                                        \
                                                                                                             \
    static inline bool NAME##_resize(struct NAME *table, size_t size) {                                      \
        struct NAME other = {(SLOT *)calloc(size, sizeof(SLOT)), size, table->count};                        \
        if (other.slots == NULL)                                                                             \
            return false;                                                                                    \
        for (size_t at = 0; at < table->size; at++)                                                          \
            if (NAME##_used(&table->slots[at]))                                                              \
                *NAME##_probe(&other, NAME##_key(&table->slots[at])) = table->slots[at];                     \
        free(table->slots);                                                                                  \
        *table = other;                                                                                      \
        return true;                                                                                         \
    }                                                                                                        \
                                                                                                             \
    static inline SLOT *NAME##_find(const struct NAME *table, KEY key) {                                     \
        if (table->count == 0)                                                                               \
            return NULL;                                                                                     \
        SLOT *slot = NAME##_probe(table, key);                                                               \
        return NAME##_used(slot) ? slot : NULL;                                                              \
    }                                                                                                        \
                                                                                                             \
    static inline SLOT *NAME##_take(struct NAME *table, KEY key) {                                           \
        SLOT *slot = table->size == 0 ? NULL : NAME##_probe(table, key);                                     \
        if (slot != NULL && NAME##_used(slot))                                                               \
            return slot;                                                                                     \
        if (2 * (table->count + 1) > table->size) {                                                          \
            if (NAME##_resize(table, table->size == 0 ? (FIRST) : 2 * table->size))                          \
                slot = NAME##_probe(table, key);                                                             \
            else if (table->count + 1 >= table->size) /* a search must end at a free slot */                 \
                return NULL;                                                                                 \
        }                                                                                                    \
        table->count++;                                                                                      \
        return slot;                                                                                         \
    }                                                                                                        \
                                                                                                             \
    /* Those behind it move up, unless the hole lies before the place where they belong. */                  \
    static inline void NAME##_remove(struct NAME *table, SLOT *slot) {                                       \
        size_t mask = table->size - 1, hole = (size_t)(slot - table->slots);                                 \
        for (size_t at = (hole + 1) & mask; NAME##_used(&table->slots[at]); at = (at + 1) & mask) {          \
            size_t home = (size_t)NAME##_hash(NAME##_key(&table->slots[at])) & mask;                         \
            if (((at - home) & mask) >= ((at - hole) & mask)) {                                              \
                table->slots[hole] = table->slots[at];                                                       \
                hole = at;                                                                                   \
            }                                                                                                \
        }                                                                                                    \
        table->slots[hole] = (SLOT){0};                                                                      \
        table->count--;                                                                                      \
    }                                                                                                        \
                                                                                                             \
    static inline bool NAME##_reserve(struct NAME *table, size_t count) {                                    \
        size_t size = table->size == 0 ? (FIRST) : table->size;                                              \
        while (size < 2 * count)                                                                             \
            size *= 2;                                                                                       \
        return size == table->size || NAME##_resize(table, size);                                            \
    }                                                                                                        \
                                                                                                             \
    static inline void NAME##_free(struct NAME *table) {                                                     \
        free(table->slots);                                                                                  \
        *table = (struct NAME){0};                                                                           \
    }

#endif
