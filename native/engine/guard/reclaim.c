/* Making a checkpoint log smaller.
 *
 * Before: segments into which nobody writes any more, and a bound: all records with lower sequence numbers
 * are in them. After: a file holds, of each byte, the newest versions below the bound (what counts as one:
 * guard/effects.h), the newest of what is older as what its base shall be, and all records from the bound on.
 * The bases hold what the segments say they shall be, which changes nothing for who reads both. */
#include "guard/reclaim.h"
#include "engine.h"

#include <errno.h>

static int by_sequence(const void *one, const void *two) {
    uint64_t a = ((const struct entry *)one)->record.sequence,
             b = ((const struct entry *)two)->record.sequence;
    return (a > b) - (a < b);
}

static bool gather(void *with, const struct pc_guard_record *record, const char *data) {
    struct reclaim *reclaim = with;
    if (reclaim->count == reclaim->room) {
        reclaim->room = reclaim->room ? 2 * reclaim->room : 4096;
        struct entry *larger = realloc(reclaim->entries, reclaim->room * sizeof *larger);
        if (!larger)
            return false;
        reclaim->entries = larger;
    }
    reclaim->entries[reclaim->count++] = (struct entry){.record = *record, .data = data};
    return true;
}

/* What tells of a pool with a number that was later given to another (a power cut took the record of the
 * first) is gone; a pool of which no record tells stays as it is. */
static void drop_orphans(struct reclaim *reclaim) {
    uint64_t mapped[PC_POOLS] = {0};
    size_t left = 0;
    for (size_t i = 0; i < reclaim->count; i++)
        if (reclaim->entries[i].record.kind == PC_GUARD_POOL)
            mapped[reclaim->entries[i].record.pool] = reclaim->entries[i].record.sequence;
    for (size_t i = 0; i < reclaim->count; i++)
        if (reclaim->entries[i].record.sequence >= mapped[reclaim->entries[i].record.pool])
            reclaim->entries[left++] = reclaim->entries[i];
    reclaim->count = left;
    for (unsigned pool = 0; pool < PC_POOLS; pool++)
        reclaim->bases[pool] = mapped[pool] ? reclaim->bases[pool] : -1;
}

/* The records of one thread have an order already. */
static void put_in_order(struct reclaim *reclaim) {
    bool ordered = true;
    for (size_t i = 1; i < reclaim->count && ordered; i++)
        ordered = reclaim->entries[i - 1].record.sequence <= reclaim->entries[i].record.sequence;
    if (!ordered)
        qsort(reclaim->entries, reclaim->count, sizeof *reclaim->entries, by_sequence);
}

/* False: without memory (ENOMEM), or a file could not be written: errno. */
static bool run(struct reclaim *reclaim, const Py_buffer *segments, Py_ssize_t count) {
    errno = ENOMEM;
    pc_effects_make(&reclaim->effects, reclaim->bases);
    reclaim->versions.pages.size = PC_PAGE;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!pc_guard_each(segments[i].buf, (uint64_t)segments[i].len, gather, reclaim))
            return false;
    put_in_order(reclaim);
    drop_orphans(reclaim);
    for (size_t i = 0; i < reclaim->count; i++)
        if (!pc_reclaim_base(reclaim, &reclaim->entries[i]))
            return false;
    for (size_t i = 0; i < reclaim->count; i++)
        if (!pc_reclaim_see(reclaim, &reclaim->entries[i]))
            return false;
    for (size_t i = reclaim->count; i-- > 0;)
        if (is_change(&reclaim->entries[i]) && !pc_reclaim_change(reclaim, &reclaim->entries[i]))
            return false;
    return pc_reclaim_notes(reclaim) && pc_guard_flush(&reclaim->output);
}

static void release(struct reclaim *reclaim) {
    pc_effects_free(&reclaim->effects);
    pc_pages_free(&reclaim->versions.pages);
    free(reclaim->transactions.slots);
    free(reclaim->places.slots);
    free(reclaim->entries);
    free(reclaim->output.buffer);
}

static bool take_bases(struct reclaim *reclaim, PyObject *bases) {
    for (int pool = 0; pool < PC_POOLS; pool++)
        reclaim->bases[pool] = -1;
    PyObject *number, *file;
    for (Py_ssize_t at = 0; PyDict_Next(bases, &at, &number, &file);) {
        long pool = PyLong_AsLong(number), descriptor = PyLong_AsLong(file);
        if (PyErr_Occurred())
            return false;
        if (pool >= 0 && pool < PC_POOLS)
            reclaim->bases[pool] = (int)descriptor;
    }
    return true;
}

PyObject *engine_guard_reclaim(PyObject *self, PyObject *args) {
    PyObject *given, *bases;
    struct reclaim reclaim = {0};
    unsigned long long bound;
    if (!PyArg_ParseTuple(args, "O!KIiIO!:guard_reclaim", &PyList_Type, &given, &bound,
                          &reclaim.versions.most, &reclaim.output.file, &reclaim.output.salt, &PyDict_Type,
                          &bases) ||
        !take_bases(&reclaim, bases))
        return NULL;
    if (reclaim.versions.most < 1 || reclaim.versions.most > PC_VERSIONS_MOST)
        return PyErr_Format(PyExc_ValueError, "1 to %d versions can be kept", PC_VERSIONS_MOST);
    reclaim.bound = bound;
    Py_ssize_t count = PyList_GET_SIZE(given), held = 0;
    Py_buffer *segments = calloc((size_t)count + 1, sizeof *segments);
    bool good = segments != NULL;
    while (good && held < count &&
           PyObject_GetBuffer(PyList_GET_ITEM(given, held), &segments[held], PyBUF_SIMPLE) == 0)
        held++;
    if (good && held == count) {
        Py_BEGIN_ALLOW_THREADS;
        good = run(&reclaim, segments, count);
        Py_END_ALLOW_THREADS;
        if (!good)
            PyErr_SetFromErrno(PyExc_OSError);
    }
    while (held > 0)
        PyBuffer_Release(&segments[--held]);
    free(segments);
    release(&reclaim);
    if (PyErr_Occurred() || !good)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    return Py_BuildValue("KK", (unsigned long long)reclaim.output.written,
                         (unsigned long long)reclaim.folded);
}
