/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of a word that have different sets are kept as a row of 8, each row once. Rows are never freed: there
 * are as many as ways in which the program's fields have been labelled. */
#include "bytes.h"

#include "sets.h"

#define WORD       8u
#define FIRST_SIZE 256u
#define MOST_ROWS  (1u << 24) /* 512 MB */

struct row {
    pc_labels bytes[WORD];
};

static struct row *rows;
static UInt capacity, count = 1; /* row 0 is no row */
static UInt *table;
static UInt table_size;

static Bool is_row(pc_word word) {
    return (word & PC_LABELS_FREE) != 0;
}

static UInt hash_of(const struct row *row) {
    ULong hash = 0;
    for (UInt i = 0; i < WORD; i++)
        hash = (hash ^ row->bytes[i]) * 0x9e3779b97f4a7c15ull;
    return (UInt)(hash >> 32);
}

static void grow_table(void) {
    VG_(free)(table);
    table_size = table_size == 0 ? 2 * FIRST_SIZE : 2 * table_size;
    table = VG_(calloc)("powercut.rows", table_size, sizeof(*table));
    for (UInt number = 1; number < count; number++) {
        UInt at = hash_of(&rows[number]) & (table_size - 1);
        while (table[at] != 0)
            at = (at + 1) & (table_size - 1);
        table[at] = number;
    }
}

/* The number of a row, made if there is none like it. */
static UInt number_of(const struct row *row) {
    if (2 * count >= table_size)
        grow_table();
    UInt at = hash_of(row) & (table_size - 1);
    for (; table[at] != 0; at = (at + 1) & (table_size - 1))
        if (VG_(memcmp)(&rows[table[at]], row, sizeof(*row)) == 0)
            return table[at];
    if (count >= capacity) {
        capacity = capacity == 0 ? FIRST_SIZE : 2 * capacity;
        rows = VG_(realloc)("powercut.rows", rows, capacity * sizeof(*rows));
    }
    rows[count] = *row;
    table[at] = count;
    return count++;
}

pc_labels pc_word_read(pc_word word, UInt from, UInt to) {
    if (!is_row(word))
        return word;
    const struct row *row = &rows[word & ~PC_LABELS_FREE];
    pc_labels found = 0;
    for (UInt i = from; i < to; i++)
        found = pc_labels_union(found, row->bytes[i]);
    return found;
}

pc_word pc_word_with(pc_word word, UInt from, UInt to, pc_labels labels) {
    struct row row;
    Bool same = True;
    if (word == labels)
        return word;
    if (count >= MOST_ROWS) /* too much rather than too little */
        return pc_labels_union(pc_word_read(word, 0, WORD), labels);
    for (UInt i = 0; i < WORD; i++) {
        row.bytes[i] = i >= from && i < to ? labels
                       : is_row(word)      ? rows[word & ~PC_LABELS_FREE].bytes[i]
                                           : word;
        same = same && row.bytes[i] == row.bytes[0];
    }
    return same ? row.bytes[0] : number_of(&row) | PC_LABELS_FREE;
}
