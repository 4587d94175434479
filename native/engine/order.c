/* What must survive, or be lost, with some updates; and a number that stands for a set of updates.
 *
 * The order is given as two arrays: the neighbours of update u are targets[firsts[u]] to
 * targets[firsts[u + 1] - 1]. */
#include "engine.h"
#include "numbers.h"

struct order {
    Py_buffer firsts, targets;
    const int64_t *first;
    const int32_t *target;
    Py_ssize_t updates, edges;
};

static bool take_order(struct order *o) {
    o->first = o->firsts.buf;
    o->target = o->targets.buf;
    o->updates = o->firsts.len / (Py_ssize_t)sizeof(int64_t) - 1;
    o->edges = o->targets.len / (Py_ssize_t)sizeof(int32_t);
    if (o->updates < 0 || o->first[o->updates] > o->edges) {
        PyErr_SetString(PyExc_ValueError, "the order is not whole");
        return false;
    }
    return true;
}

/* The numbers found so far, and those of them whose neighbours are still to be looked at. */
struct closure {
    struct pc_numbers found;
    int32_t *waiting;
    Py_ssize_t count, room;
};

static bool meet(struct closure *c, int32_t update) {
    int added = pc_numbers_add(&c->found, update);
    if (added > 0 && c->count == c->room) {
        int32_t *larger = realloc(c->waiting, (size_t)(2 * c->room + 32) * sizeof(*larger));
        if (larger == NULL) {
            added = -1;
        } else {
            c->waiting = larger;
            c->room = 2 * c->room + 32;
        }
    }
    if (added < 0) {
        PyErr_NoMemory();
        return false;
    }
    if (added > 0) {
        c->waiting[c->count++] = update;
    }
    return true;
}

static PyObject *as_frozenset(const struct pc_numbers *found) {
    PyObject *set = PyFrozenSet_New(NULL);
    for (size_t at = 0; set != NULL && at < found->size; at++) {
        if (pc_numbers_used(&found->slots[at])) {
            PyObject *number = PyLong_FromLong(pc_numbers_key(&found->slots[at]));
            if (number == NULL || PySet_Add(set, number) != 0) { /* which a set that nobody has seen allows */
                Py_CLEAR(set);
            }
            Py_XDECREF(number);
        }
    }
    return set;
}

/* All that can be reached from some updates over updates with smaller numbers than `end` whose guarantee is
 * later than `point`. The seeds must be later, too, or are left out. */
static PyObject *close_over(const struct order *o, PyObject *seeds, int64_t end, const int64_t *guaranteed,
                            int64_t point) {
    struct closure c = {0};
    PyObject *iterator = PyObject_GetIter(seeds), *item, *result = NULL;
    bool good = iterator != NULL && pc_numbers_reserve(&c.found, 16);
    while (good && (item = PyIter_Next(iterator)) != NULL) {
        long seed = PyLong_AsLong(item);
        Py_DECREF(item);
        if (seed < 0 || seed >= o->updates) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_IndexError, "there is no update %ld", seed);
            }
            good = false;
        } else if (guaranteed == NULL || guaranteed[seed] > point) {
            good = meet(&c, (int32_t)seed);
        }
    }
    good = good && !PyErr_Occurred();
    while (good && c.count > 0) {
        int32_t update = c.waiting[--c.count];
        for (int64_t i = o->first[update]; good && i < o->first[update + 1]; i++) {
            int32_t other = o->target[i];
            if (other >= 0 && other < end && (guaranteed == NULL || guaranteed[other] > point)) {
                good = meet(&c, other);
            }
        }
    }
    if (good) {
        result = as_frozenset(&c.found);
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    Py_XDECREF(iterator);
    pc_numbers_free(&c.found);
    free(c.waiting);
    return result;
}

PyObject *engine_losses(PyObject *self, PyObject *args) {
    struct order o;
    PyObject *seeds, *result = NULL;
    long long issued;
    if (!PyArg_ParseTuple(args, "y*y*OL:losses", &o.firsts, &o.targets, &seeds, &issued)) {
        return NULL;
    }
    if (take_order(&o)) {
        result = close_over(&o, seeds, issued < o.updates ? issued : o.updates, NULL, 0);
    }
    PyBuffer_Release(&o.firsts);
    PyBuffer_Release(&o.targets);
    return result;
}

PyObject *engine_requirements(PyObject *self, PyObject *args) {
    struct order o;
    Py_buffer guaranteed;
    PyObject *seeds, *result = NULL;
    long long point;
    if (!PyArg_ParseTuple(args, "y*y*y*OL:requirements", &o.firsts, &o.targets, &guaranteed, &seeds,
                          &point)) {
        return NULL;
    }
    if (take_order(&o)) {
        if (guaranteed.len < o.updates * (Py_ssize_t)sizeof(int64_t)) {
            PyErr_SetString(PyExc_ValueError, "guarantees are missing");
        } else {
            result = close_over(&o, seeds, o.updates, guaranteed.buf, point);
        }
    }
    PyBuffer_Release(&o.firsts);
    PyBuffer_Release(&o.targets);
    PyBuffer_Release(&guaranteed);
    return result;
}

/* A number without pattern for each update (splitmix64). */
static uint64_t mark(uint64_t update) {
    uint64_t value = (update + 1) * 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

PyObject *engine_mark_set(PyObject *self, PyObject *updates) {
    uint64_t total = 0;
    PyObject *iterator = PyObject_GetIter(updates), *item;
    while (iterator != NULL && (item = PyIter_Next(iterator)) != NULL) {
        total ^= mark((uint64_t)PyLong_AsLongLong(item));
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(total);
}

PyObject *engine_mark_sums(PyObject *self, PyObject *args) {
    Py_buffer updates;
    Py_ssize_t every;
    if (!PyArg_ParseTuple(args, "y*n:mark_sums", &updates, &every)) {
        return NULL;
    }
    const int32_t *numbers = updates.buf;
    Py_ssize_t count = updates.len / (Py_ssize_t)sizeof(*numbers);
    PyObject *result = every < 1 ? NULL : PyBytes_FromStringAndSize(NULL, (count / every + 1) * 8);
    uint64_t total = 0;
    for (Py_ssize_t i = 0; result != NULL && i <= count; i++) {
        if (i % every == 0) {
            memcpy(PyBytes_AS_STRING(result) + i / every * 8, &total, sizeof(total));
        }
        total ^= i < count ? mark((uint64_t)numbers[i]) : 0;
    }
    PyBuffer_Release(&updates);
    if (result == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "sums of no length");
    }
    return result;
}
