/* The cache of unwind rows: see stacks/unwind/unwind.h. A table of pointers into chunks that are never
 * moved, so a warm frame costs one probe and no interpretation of DWARF. Addresses without information
 * are remembered as well. */
#include "stacks/unwind/rows.h"
#include "hash_table.h"

#include <stdlib.h>

#define CHUNK_ROWS 256

struct chunk {
    struct chunk *next;
    struct pc_cached_row rows[CHUNK_ROWS];
};

struct place {
    const struct pc_module *module;
    uint64_t address;
};

static inline bool places_used(struct pc_cached_row *const *slot) {
    return *slot != NULL;
}

static inline struct place places_key(struct pc_cached_row *const *slot) {
    return (struct place){(*slot)->module, (*slot)->address};
}

static inline uint64_t places_hash(struct place place) {
    uint64_t h = (place.address ^ ((uint64_t)(uintptr_t)place.module >> 4)) * PC_GOLDEN;
    return h ^ h >> 29;
}

static inline bool places_same(struct place one, struct place other) {
    return one.address == other.address && one.module == other.module;
}

PC_HASH_TABLE(places, struct pc_cached_row *, struct place, 4096)

struct pc_rows {
    struct places places;
    struct chunk *chunks;
    unsigned used; /* rows of the first chunk */
};

struct pc_rows *pc_rows_new(void) {
    struct pc_rows *rows = calloc(1, sizeof *rows);
    if (rows)
        rows->used = CHUNK_ROWS;
    return rows;
}

void pc_rows_free(struct pc_rows *rows) {
    if (!rows)
        return;
    while (rows->chunks) {
        struct chunk *next = rows->chunks->next;
        free(rows->chunks);
        rows->chunks = next;
    }
    places_free(&rows->places);
    free(rows);
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
    struct place place = {module, address};
    struct pc_cached_row **known = places_find(&rows->places, place);
    if (known)
        return *known;
    struct pc_cached_row *row = take_row(rows);
    struct pc_cached_row **slot = row ? places_take(&rows->places, place) : 0;
    if (!slot)
        return 0;
    row->module = module;
    row->address = address;
    row->valid = pc_cfi_row(&module->cfi, address, &row->row);
    *slot = row;
    return row;
}
