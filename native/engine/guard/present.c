/* What the pools of a checkpoint log hold, without their history (src/powercut/guard/present.py).
 *
 * Before: segments, and the bases of some pools. After: the bases hold what the log says that they shall be,
 * and over that all changes since, in their order; it is known which pools there are. Each byte of the log is
 * read once, and of a change only where it stands is remembered meanwhile. */
#include "engine.h"
#include "guard/records.h"

#include <stdlib.h>
#include <string.h>

enum { POOLS = 16 };

struct change {
    uint64_t sequence, offset;
    const char *data;
    uint32_t size;
    uint8_t pool;
    bool is_fill;
};

struct present {
    Py_buffer images[POOLS]; /* none: the pool has no base */
    struct pc_guard_record told[POOLS];
    const char *names[POOLS]; /* none: no record tells of the pool */
    struct change *changes;
    size_t count, room;
    uint64_t last; /* the highest sequence number */
};

static void lay(const Py_buffer *image, const struct change *change) {
    uint64_t size = (uint64_t)image->len, left;
    if (!image->buf || change->offset >= size)
        return; /* what lies behind the end of a base is not followed */
    left = size - change->offset;
    if (left > change->size)
        left = change->size;
    if (change->is_fill)
        memset((char *)image->buf + change->offset, change->data[0], left);
    else
        memcpy((char *)image->buf + change->offset, change->data, left);
}

static bool add(struct present *present, struct change change) {
    if (present->count == present->room) {
        size_t room = present->room ? 2 * present->room : 4096;
        struct change *larger = realloc(present->changes, room * sizeof *larger);
        if (!larger)
            return false;
        present->changes = larger;
        present->room = room;
    }
    present->changes[present->count++] = change;
    return true;
}

static bool take(void *with, const struct pc_guard_record *record, const char *data) {
    struct present *present = with;
    struct change change = {record->sequence, record->offset, data, record->size, record->pool, false};
    if (record->sequence > present->last)
        present->last = record->sequence;
    switch (record->kind) {
    case PC_GUARD_POOL:
        if (!present->names[record->pool] || record->sequence > present->told[record->pool].sequence) {
            present->told[record->pool] = *record;
            present->names[record->pool] = data;
        }
        return true;
    case PC_GUARD_BASE: /* these do not overlap, and are older than all changes */
        lay(&present->images[record->pool], &change);
        return true;
    case PC_GUARD_FILL:
        change.is_fill = true;
        return add(present, change);
    case PC_GUARD_UPDATE:
    case PC_GUARD_FOUND:
        return add(present, change);
    default:
        return true;
    }
}

static int by_sequence(const void *one, const void *two) {
    const struct change *a = one, *b = two;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* What came before the record of a pool is of another, whose record was lost. */
static void lay_all(struct present *present) {
    bool ordered = true;
    for (size_t i = 1; i < present->count && ordered; i++)
        ordered = present->changes[i - 1].sequence <= present->changes[i].sequence;
    if (!ordered)
        qsort(present->changes, present->count, sizeof *present->changes, by_sequence);
    for (size_t i = 0; i < present->count; i++) {
        const struct change *change = &present->changes[i];
        if (present->names[change->pool] && change->sequence > present->told[change->pool].sequence)
            lay(&present->images[change->pool], change);
    }
}

static bool take_images(struct present *present, PyObject *images) {
    PyObject *number, *image;
    for (Py_ssize_t at = 0; PyDict_Next(images, &at, &number, &image);) {
        long pool = PyLong_AsLong(number);
        if (pool < 0 || pool >= POOLS) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "pools have numbers below %d", POOLS);
            return false;
        }
        if (PyObject_GetBuffer(image, &present->images[pool], PyBUF_WRITABLE) < 0)
            return false;
    }
    return true;
}

static bool read_segments(struct present *present, PyObject *segments) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(segments); i++) {
        PyObject *segment = PyList_GET_ITEM(segments, i);
        if (!PyBytes_Check(segment)) {
            PyErr_SetString(PyExc_TypeError, "a segment is bytes");
            return false;
        }
        if (!pc_guard_each(PyBytes_AS_STRING(segment), (uint64_t)PyBytes_GET_SIZE(segment), take, present)) {
            PyErr_NoMemory();
            return false;
        }
        if (PyErr_CheckSignals() < 0)
            return false;
    }
    lay_all(present);
    return true;
}

static PyObject *told(const struct present *present) {
    PyObject *pools = PyList_New(0);
    for (int i = 0; pools && i < POOLS; i++) {
        if (!present->names[i])
            continue;
        PyObject *pool = Py_BuildValue("iKy#", i, (unsigned long long)present->told[i].offset,
                                       present->names[i], (Py_ssize_t)present->told[i].size);
        if (!pool || PyList_Append(pools, pool) < 0)
            Py_CLEAR(pools);
        Py_XDECREF(pool);
    }
    return pools ? Py_BuildValue("NK", pools, (unsigned long long)present->last) : NULL;
}

PyObject *engine_guard_present(PyObject *self, PyObject *args) {
    PyObject *segments, *images, *result = NULL;
    struct present present = {0};
    if (!PyArg_ParseTuple(args, "O!O!:guard_present", &PyList_Type, &segments, &PyDict_Type, &images))
        return NULL;
    if (take_images(&present, images) && read_segments(&present, segments))
        result = told(&present);
    for (int i = 0; i < POOLS; i++)
        if (present.images[i].obj)
            PyBuffer_Release(&present.images[i]);
    free(present.changes);
    return result;
}
