/* The history of a timeline: looking up which updates touch a block, a size, a file. */
#include "history.h"

/* A buffer of a known item size; the number of items, or -1 with an exception. */
static Py_ssize_t items(const Py_buffer *buffer, size_t size, Py_ssize_t wanted, const char *name) {
    Py_ssize_t count = buffer->len / (Py_ssize_t)size;
    if (buffer->len % (Py_ssize_t)size != 0 || (wanted >= 0 && count != wanted)) {
        PyErr_Format(PyExc_ValueError, "the column %s has %zd bytes", name, buffer->len);
        return -1;
    }
    return count;
}

static bool inside(const History *h, int64_t data, int64_t length) {
    return length >= 0 && data >= 0 && length <= h->trace_size && data <= h->trace_size - length;
}

/* What would let a wrong number read outside of the trace or of a column is refused once, here. */
static bool is_sound(const History *h) {
    for (Py_ssize_t u = 0; u < h->update_count; u++) {
        if (h->start[u] < 0 || h->length[u] < 0 || h->start[u] > NEVER || h->length[u] > NEVER ||
            !pc_is_object(h, h->obj[u]) || (h->kind[u] == DATA && !inside(h, h->data[u], h->length[u])) ||
            (h->kind[u] == FILL && h->fresh[u] && h->data[u] >= u)) {
            PyErr_Format(PyExc_ValueError, "update %zd points outside of the trace", u);
            return false;
        }
    }
    for (Py_ssize_t i = 0; i < h->extent_count; i++) {
        if (!inside(h, h->extents[i].data, h->extents[i].length)) {
            PyErr_SetString(PyExc_ValueError, "the snapshot points outside of the trace");
            return false;
        }
    }
    return true;
}

/* Sizes mostly grow one after the other. Those of a file with holes need not: a block in a hole, written back
 * early, brings a smaller size than was asked for before. */
static bool find_ascending(History *h) {
    h->ascending = malloc((size_t)h->object_count + 1);
    if (h->ascending == NULL) {
        PyErr_NoMemory();
        return false;
    }
    memset(h->ascending, true, (size_t)h->object_count + 1);
    for (Py_ssize_t i = 1; i < h->size_count; i++) {
        int32_t before = h->size_updates[i - 1], u = h->size_updates[i];
        if (h->obj[before] == h->obj[u] && h->start[before] > h->start[u]) {
            h->ascending[h->obj[u]] = false;
        }
    }
    return true;
}

static bool take_buffers(History *h) {
    Py_buffer *b = h->buffers;
    h->kind = b[0].buf;
    h->obj = b[1].buf;
    h->start = b[2].buf;
    h->length = b[3].buf;
    h->data = b[4].buf;
    h->fresh = b[5].buf;
    h->guaranteed = b[6].buf;
    h->trace = b[7].buf;
    h->trace_size = b[7].len;
    h->block_keys = b[8].buf;
    h->block_first = b[9].buf;
    h->block_updates = b[10].buf;
    h->size_updates = b[11].buf;
    h->cut_updates = b[12].buf;
    h->base_sizes = b[13].buf;
    h->extent_owners = b[14].buf;
    h->extents = b[15].buf;
    Py_ssize_t n = h->update_count = items(&b[0], 1, -1, "kind");
    bool columns = items(&b[1], 4, n, "obj") >= 0 && items(&b[2], 8, n, "start") >= 0 &&
                   items(&b[3], 8, n, "length") >= 0 && items(&b[4], 8, n, "data") >= 0 &&
                   items(&b[5], 1, n, "fresh") >= 0 && items(&b[6], 8, n, "guaranteed") >= 0;
    h->block_count = items(&b[8], 8, -1, "block_keys");
    h->size_count = items(&b[11], 4, -1, "size_updates");
    h->cut_count = items(&b[12], 4, -1, "cut_updates");
    h->object_count = items(&b[13], 8, -1, "base_sizes");
    h->extent_count = items(&b[14], 4, -1, "extent_owners");
    return columns && h->block_count >= 0 && h->size_count >= 0 && h->cut_count >= 0 &&
           h->object_count >= 0 && h->extent_count >= 0 &&
           items(&b[9], 8, h->block_count + 1, "block_first") >= 0 &&
           items(&b[10], 4, h->block_first[h->block_count], "block_updates") >= 0 &&
           items(&b[15], sizeof(struct extent), h->extent_count, "extents") >= 0 && is_sound(h) &&
           find_ascending(h);
}

static void history_free(PyObject *self) {
    History *h = (History *)self;
    pc_drop_segments(h);
    free(h->segments);
    free(h->ascending);
    for (int i = 0; i < HISTORY_BUFFERS; i++) {
        PyBuffer_Release(&h->buffers[i]);
    }
    pc_object_free(self);
}

static PyObject *history_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    History *h = pc_object_new(type);
    if (h == NULL) {
        return NULL;
    }
    Py_buffer *b = h->buffers;
    int garbage;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*y*p:History", &b[0], &b[1], &b[2], &b[3],
                          &b[4], &b[5], &b[6], &b[7], &b[8], &b[9], &b[10], &b[11], &b[12], &b[13], &b[14],
                          &b[15], &garbage) ||
        !take_buffers(h)) {
        Py_DECREF(h);
        return NULL;
    }
    h->garbage = garbage != 0;
    return (PyObject *)h;
}

bool pc_is_object(const History *h, long obj) {
    return obj >= 0 && obj < h->object_count;
}

int64_t pc_find_block(const History *h, int64_t key) {
    int64_t low = 0, high = h->block_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (h->block_keys[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct span pc_data_of(const History *h, int32_t file, int64_t block, int64_t *position) {
    int64_t key = pc_block_key(file, block);
    *position = pc_find_block(h, key);
    if (*position == h->block_count || h->block_keys[*position] != key) {
        return (struct span){0, 0};
    }
    return (struct span){h->block_first[*position], h->block_first[*position + 1]};
}

static int64_t first_owned(const History *h, const int32_t *updates, int64_t count, int32_t obj) {
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (h->obj[updates[middle]] < obj) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct span pc_owned(const History *h, const int32_t *updates, Py_ssize_t count, int32_t obj) {
    int64_t first = first_owned(h, updates, count, obj);
    if (first == count || h->obj[updates[first]] != obj) {
        return (struct span){0, 0};
    }
    return (struct span){first, first_owned(h, updates, count, obj + 1)};
}

int64_t pc_issued_end(const int32_t *updates, struct span span, int32_t issued) {
    int64_t low = span.first, high = span.last;
    if (low < high && updates[high - 1] < issued) {
        return high; /* by far the most frequent case */
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (updates[middle] < issued) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

Py_ssize_t pc_first_extent(const History *h, int32_t file, int64_t offset) {
    Py_ssize_t low = 0, high = h->extent_count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        const struct extent *e = &h->extents[middle];
        if (h->extent_owners[middle] < file ||
            (h->extent_owners[middle] == file && e->start + e->length <= offset)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t pc_data_from(const History *h, int32_t file, int64_t offset) {
    int64_t found = NEVER;
    int64_t position = pc_find_block(h, pc_block_key(file, offset / BLOCK));
    if (position < h->block_count && h->block_keys[position] >> 40 == file) {
        int64_t start = (h->block_keys[position] & (((int64_t)1 << 40) - 1)) * BLOCK;
        found = start > offset ? start : offset;
    }
    Py_ssize_t extent = pc_first_extent(h, file, offset);
    if (extent < h->extent_count && h->extent_owners[extent] == file) {
        int64_t start = h->extents[extent].start;
        start = start > offset ? start : offset;
        found = start < found ? start : found;
    }
    return found;
}

bool pc_shows_lost(const History *h, const Survivors *s, int32_t u) {
    if (!h->garbage || h->kind[u] != FILL || !h->fresh[u]) {
        return false;
    }
    return s == NULL || (u < s->issued && (h->data[u] < 0 || pc_survives(s, (int32_t)h->data[u])));
}

bool pc_effect(const Survivors *s, int32_t u, int64_t low, int *first, int *last, const uint8_t **source,
               int *filler) {
    const History *h = s->history;
    bool survives = pc_survives(s, u);
    int64_t start = pc_first_byte(h, u), end = h->kind[u] == CUT ? low + BLOCK : start + h->length[u];
    *source = NULL;
    *filler = 0;
    if (!survives) {
        if (!pc_shows_lost(h, s, u)) {
            return false;
        }
        *filler = GARBAGE;
    }
    int64_t from = start > low ? start : low, to = end < low + BLOCK ? end : low + BLOCK;
    if (from >= to) {
        return false;
    }
    if (survives && h->kind[u] == DATA) {
        *source = h->trace + h->data[u] + (from - start);
    }
    *first = (int)(from - low);
    *last = (int)(to - low);
    return true;
}

static PyObject *history_touched(PyObject *self, PyObject *differing) {
    return pc_touched((History *)self, differing);
}

static PyObject *history_data_from(PyObject *self, PyObject *args) {
    int file;
    long long offset;
    if (!PyArg_ParseTuple(args, "iL:data_from", &file, &offset)) {
        return NULL;
    }
    return PyLong_FromLongLong(pc_data_from((History *)self, file, offset));
}

static PyMethodDef methods[] = {
    {"touched", history_touched, METH_O, "Where images differ that differ in these updates."},
    {"data_from", history_data_from, METH_VARARGS, "The first offset from one on that anything ever fills."},
    {NULL, NULL, 0, NULL},
};

PC_TYPE_SPEC(pc_history_type, "History", History,
             {Py_tp_doc, (void *)"The updates of one timeline, by what they change."},
             {Py_tp_new, history_new}, {Py_tp_dealloc, history_free}, {Py_tp_methods, methods});
