/* The updates of one timeline in C, indexed by what they change, and the survivors of one crash state.
 *
 * The columns are those of states/updates.py, the indices are made by states/content_index.py; both stay with
 * Python and are only read here. */
#ifndef POWERCUT_HISTORY_H
#define POWERCUT_HISTORY_H

#include "engine.h"
#include "numbers.h"

#define BLOCK   4096
#define NEVER   ((int64_t)1 << 62)
#define GARBAGE 0xa5 /* stands for whatever the disk held before */

/* states/updates.py: UpdateKind. */
enum update_kind { DATA = 1, SIZE, CUT, ZERO, ENTRY, MODE, XATTR, FILL };

struct extent {
    int64_t start; /* in the file */
    int64_t length;
    int64_t data; /* in the trace */
};

struct segments;

#define HISTORY_BUFFERS 16

typedef struct {
    PyObject_HEAD Py_buffer buffers[HISTORY_BUFFERS];
    Py_ssize_t update_count;
    /* Columns: one entry for each update. */
    const int8_t *kind;
    const int32_t *obj;
    const int64_t *start, *length, *data, *guaranteed;
    const int8_t *fresh;
    /* The trace file, which `data` points into. */
    const uint8_t *trace;
    int64_t trace_size;
    /* Blocks that any data update touches: sorted keys (object above, block below), and for each its updates
     * in program order, from block_first[i] to block_first[i + 1]. */
    Py_ssize_t block_count;
    const int64_t *block_keys, *block_first;
    const int32_t *block_updates;
    /* SIZE updates, and CUT and ZERO updates, by object and then in program order. */
    Py_ssize_t size_count, cut_count;
    const int32_t *size_updates, *cut_updates;
    /* The snapshot: sizes of all objects; extents of their content, by object and offset. */
    Py_ssize_t object_count, extent_count;
    const int64_t *base_sizes;
    const int32_t *extent_owners;
    const struct extent *extents;
    bool *ascending; /* whether each file's SIZE updates grow from one to the next */
    bool garbage;    /* lost data behind the old end of a file shows as garbage where the size survived */
    /* segments.c: made on demand, one for each of the blocks; NULL where there is none. */
    struct segments **segments;
    size_t segment_bytes;
} History;

typedef struct {
    PyObject_HEAD History *history;
    int64_t point;
    int32_t issued;  /* updates with smaller numbers were issued by the point */
    bool delta_kept; /* of those not guaranteed just the delta survived; otherwise all but the delta */
    struct pc_numbers delta;
} Survivors;

extern PyTypeObject *pc_history_type, *pc_survivors_type, *pc_block_hashes_type;
extern PyType_Spec pc_history_type_spec, pc_survivors_type_spec, pc_block_hashes_type_spec;

/* What a delta takes away is lost even if it is guaranteed: no crash state lacks that, but findings ask about
 * images in which one mistake is mended and another one is not (findings/repair.py). */
static inline bool pc_survives(const Survivors *s, int32_t update) {
    if (update >= s->issued) {
        return false;
    }
    if (!s->delta_kept) {
        return !pc_numbers_has(&s->delta, update);
    }
    return s->history->guaranteed[update] <= s->point || pc_numbers_has(&s->delta, update);
}

/* A part of an index: positions first to last - 1. */
struct span {
    int64_t first, last;
};

static inline int64_t pc_block_key(int32_t file, int64_t block) {
    return ((int64_t)file << 40) | block;
}

/* Whether an update writes a part of a block: data, or zeros in place of data. */
static inline bool pc_is_written(const History *h, int32_t update) {
    return h->kind[update] == DATA || h->kind[update] == FILL;
}

/* Whether an update that is lost shows as garbage, in a state or (without one) in any. */
bool pc_shows_lost(const History *history, const Survivors *s, int32_t update);

/* The first byte that an update of content changes; a truncate changes all behind it, others `length` bytes.
 */
static inline int64_t pc_first_byte(const History *h, int32_t update) {
    return h->start[update] + (h->kind[update] == CUT ? h->length[update] : 0);
}

/* history.c: looking things up. */
int64_t pc_find_block(const History *history, int64_t key); /* first position with this key or a larger one */
struct span pc_data_of(const History *history, int32_t file, int64_t block, int64_t *position);
struct span pc_owned(const History *history, const int32_t *updates, Py_ssize_t count, int32_t obj);
int64_t pc_issued_end(const int32_t *updates, struct span span, int32_t issued);
int64_t pc_data_from(const History *history, int32_t file, int64_t offset);
Py_ssize_t pc_first_extent(const History *history, int32_t file, int64_t offset);
bool pc_is_object(const History *history, long obj);

/* The bytes of [*first, *last) that an update changes in a block, for a state; false if it changes none.
 * Source: where the bytes for *first are, or NULL: then all become *filler. */
bool pc_effect(const Survivors *s, int32_t update, int64_t low, int *first, int *last, const uint8_t **source,
               int *filler);

/* contents.c: one whole block in a state, as if the file went on behind its end: in the trace, or in the
 * buffer (of BLOCK bytes). NULL with an exception without memory. */
const uint8_t *pc_block(const Survivors *s, int32_t file, int64_t block, uint8_t *buffer);
void pc_base_block(const History *history, int32_t file, int64_t block, uint8_t *into);
int64_t pc_size(const Survivors *s, int32_t file);

/* segments.c: the same for a block with a long history; 0 when it has no segments, -1 with an exception. */
int pc_block_by_segments(const Survivors *s, int32_t file, int64_t block, int64_t position, struct span data,
                         uint8_t *into);
void pc_drop_segments(History *history);

/* touched.c */
PyObject *pc_touched(History *history, PyObject *differing);
/* patch.c */
PyObject *pc_patch(Survivors *self, PyObject *args);
PyObject *pc_fill(Survivors *self, PyObject *args);

#endif
