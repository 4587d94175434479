/* The cache of unwind rows: see stacks/unwind/unwind.h. Open addressing over pointers into chunks that are
 * never moved, so a warm frame costs one probe and no interpretation of DWARF. Addresses without information
 * are remembered as well. */
#include "stacks/unwind/rows.h"

#include <stdlib.h>

#define CHUNK_ROWS 256

struct chunk {
    struct chunk *next;
    struct pc_cached_row rows[CHUNK_ROWS];
};

struct pc_rows {
    struct pc_cached_row **slots;
    uint64_t mask;
    uint64_t count;
    struct chunk *chunks;
    unsigned used; /* rows of the first chunk */
};

struct pc_rows *pc_rows_new(void) {
    struct pc_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return 0;
    rows->mask = 4095;
    rows->used = CHUNK_ROWS;
    rows->slots = calloc(rows->mask + 1, sizeof *rows->slots);
    if (rows->slots)
        return rows;
    free(rows);
    return 0;
}

void pc_rows_free(struct pc_rows *rows) {
    if (!rows)
        return;
    while (rows->chunks) {
        struct chunk *next = rows->chunks->next;
        free(rows->chunks);
        rows->chunks = next;
    }
    free(rows->slots);
    free(rows);
}

static uint64_t slot_hash(const struct pc_module *module, uint64_t address) {
    uint64_t h = (address ^ ((uint64_t)(uintptr_t)module >> 4)) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

static struct pc_cached_row **find_slot(const struct pc_rows *rows, const struct pc_module *module,
                                        uint64_t address) {
    uint64_t at = slot_hash(module, address) & rows->mask;
    while (rows->slots[at] && (rows->slots[at]->address != address || rows->slots[at]->module != module))
        at = (at + 1) & rows->mask;
    return &rows->slots[at];
}

static void grow(struct pc_rows *rows) {
    uint64_t old_mask = rows->mask;
    struct pc_cached_row **old = rows->slots;
    struct pc_cached_row **slots = calloc((old_mask + 1) * 2, sizeof *slots);
    if (!slots)
        return;
    rows->slots = slots;
    rows->mask = old_mask * 2 + 1;
    for (uint64_t i = 0; i <= old_mask; i++)
        if (old[i])
            *find_slot(rows, old[i]->module, old[i]->address) = old[i];
    free(old);
}

static struct pc_cached_row *take_row(struct pc_rows *rows) {
    if (rows->used == CHUNK_ROWS) {
        struct chunk *chunk = malloc(sizeof *chunk);
        if (!chunk)
            return 0;
        chunk->next = rows->chunks;
        rows->chunks = chunk;
        rows->used = 0;
    }
    return &rows->chunks->rows[rows->used++];
}

const struct pc_cached_row *pc_rows_get(struct pc_rows *rows, struct pc_module *module, uint64_t address) {
    struct pc_cached_row **slot = find_slot(rows, module, address);
    if (*slot)
        return *slot;
    if (rows->count * 2 > rows->mask) {
        grow(rows);
        slot = find_slot(rows, module, address);
    }
    if (rows->count >= rows->mask) /* could not grow: a probe must still meet an empty slot */
        return 0;
    struct pc_cached_row *row = take_row(rows);
    if (!row)
        return 0;
    row->module = module;
    row->address = address;
    row->valid = pc_cfi_row(&module->cfi, address, &row->row);
    *slot = row;
    rows->count++;
    return row;
}
