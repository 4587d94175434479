/* The survivors of one crash state, and what the files hold with them. */
#include "history.h"

static void survivors_free(PyObject *self) {
    Survivors *s = (Survivors *)self;
    pc_numbers_free(&s->delta);
    Py_XDECREF((PyObject *)s->history);
    pc_object_free(self);
}

/* An update number; -1 with an exception if it is none. */
static int32_t number_of(const History *h, PyObject *item) {
    long number = PyLong_AsLong(item);
    if (number >= 0 && number < h->update_count) {
        return (int32_t)number;
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_IndexError, "there is no update %ld", number);
    }
    return -1;
}

static bool take_delta(Survivors *s, PyObject *delta) {
    Py_ssize_t size = PyObject_Size(delta);
    if (size < 0) {
        return false;
    }
    if (!pc_numbers_reserve(&s->delta, (size_t)size)) {
        PyErr_NoMemory();
        return false;
    }
    if (size == 0) {
        return true;
    }
    PyObject *iterator = PyObject_GetIter(delta), *item;
    if (iterator == NULL) {
        return false;
    }
    while ((item = PyIter_Next(iterator)) != NULL) {
        int32_t number = number_of(s->history, item);
        Py_DECREF(item);
        if (number < 0) {
            break;
        }
        if (pc_numbers_add(&s->delta, number) < 0) {
            PyErr_NoMemory();
            break;
        }
    }
    Py_DECREF(iterator);
    return !PyErr_Occurred();
}

static PyObject *survivors_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *history, *delta;
    long long point;
    int issued, delta_kept;
    if (!PyArg_ParseTuple(args, "O!LipO:Survivors", pc_history_type, &history, &point, &issued, &delta_kept,
                          &delta)) {
        return NULL;
    }
    Survivors *s = pc_object_new(type);
    if (s == NULL) {
        return NULL;
    }
    s->history = (History *)Py_NewRef(history);
    s->point = point;
    s->issued = issued < s->history->update_count ? issued : (int32_t)s->history->update_count;
    s->delta_kept = delta_kept != 0;
    if (!take_delta(s, delta)) {
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static PyObject *survivors_survives(PyObject *self, PyObject *item) {
    Survivors *s = (Survivors *)self;
    int32_t update = number_of(s->history, item);
    return update < 0 ? NULL : PyBool_FromLong(pc_survives(s, update));
}

/* Two states that are compared, and what was found in one of them only. */
struct comparison {
    const Survivors *here, *there;
    int32_t first, last; /* updates that were looked at before the others */
    int32_t *found;
    size_t count, room;
};

static bool compare_update(struct comparison *c, int32_t update) {
    if (pc_survives(c->here, update) == pc_survives(c->there, update)) {
        return true;
    }
    if (c->count == c->room) {
        size_t room = c->room == 0 ? 64 : 2 * c->room;
        int32_t *found = PyMem_Resize(c->found, int32_t, room);
        if (found == NULL) {
            PyErr_NoMemory();
            return false;
        }
        c->found = found;
        c->room = room;
    }
    c->found[c->count++] = update;
    return true;
}

static bool compare_range(struct comparison *c) {
    for (int32_t update = c->first; update < c->last; update++) {
        if (!compare_update(c, update)) {
            return false;
        }
    }
    return true;
}

/* The updates of a delta that are neither in the range nor in `known`. */
static bool compare_delta(struct comparison *c, const struct pc_numbers *delta,
                          const struct pc_numbers *known) {
    for (size_t i = 0; i < delta->size; i++) {
        if (!pc_numbers_used(&delta->slots[i])) {
            continue;
        }
        int32_t update = pc_numbers_key(&delta->slots[i]);
        if ((update < c->first || update >= c->last) && (known == NULL || !pc_numbers_has(known, update)) &&
            !compare_update(c, update)) {
            return false;
        }
    }
    return true;
}

static bool compare_others(struct comparison *c, PyObject *others) {
    PyObject *iterator = PyObject_GetIter(others), *item;
    while (iterator != NULL && (item = PyIter_Next(iterator)) != NULL) {
        int32_t update = number_of(c->here->history, item);
        Py_DECREF(item);
        if (update < 0) {
            break;
        }
        if ((update < c->first || update >= c->last) && !pc_numbers_has(&c->here->delta, update) &&
            !pc_numbers_has(&c->there->delta, update) && !compare_update(c, update)) {
            break;
        }
    }
    Py_XDECREF(iterator);
    return !PyErr_Occurred();
}

/* Of both deltas, a range and some others, the updates that survive here and not there, or the other way
 * round. */
static PyObject *survivors_differing(PyObject *self, PyObject *args) {
    PyObject *other, *others;
    struct comparison c = {.here = (Survivors *)self};
    if (!PyArg_ParseTuple(args, "O!iiO:differing", pc_survivors_type, &other, &c.first, &c.last, &others)) {
        return NULL;
    }
    c.there = (Survivors *)other;
    int64_t count = c.here->history->update_count;
    if (c.there->history != c.here->history || c.first < 0 || c.last > count) {
        PyErr_SetString(PyExc_ValueError, "these updates are not those of both states");
        return NULL;
    }
    bool good = compare_range(&c) && compare_delta(&c, &c.here->delta, NULL) &&
                compare_delta(&c, &c.there->delta, &c.here->delta) && compare_others(&c, others);
    Py_ssize_t size = (Py_ssize_t)(c.count * sizeof(*c.found));
    PyObject *packed = good ? PyBytes_FromStringAndSize((const char *)c.found, size) : NULL;
    PyMem_Free(c.found);
    return packed;
}

/* The file that an argument names; -1 with an exception. */
static int file_of(const Survivors *s, long number) {
    if (pc_is_object(s->history, number)) {
        return (int)number;
    }
    PyErr_Format(PyExc_IndexError, "there is no object %ld", number);
    return -1;
}

static PyObject *survivors_size(PyObject *self, PyObject *item) {
    Survivors *s = (Survivors *)self;
    long number = PyLong_AsLong(item);
    int file = PyErr_Occurred() ? -1 : file_of(s, number);
    return file < 0 ? NULL : PyLong_FromLongLong(pc_size(s, file));
}

static PyObject *survivors_block(PyObject *self, PyObject *args) {
    Survivors *s = (Survivors *)self;
    int file;
    long long number;
    uint8_t buffer[BLOCK];
    if (!PyArg_ParseTuple(args, "iL:block", &file, &number) || file_of(s, file) < 0) {
        return NULL;
    }
    const uint8_t *content = pc_block(s, file, number, buffer);
    return content == NULL ? NULL : PyBytes_FromStringAndSize((const char *)content, BLOCK);
}

static PyObject *survivors_read(PyObject *self, PyObject *args) {
    Survivors *s = (Survivors *)self;
    int file;
    long long offset, length;
    if (!PyArg_ParseTuple(args, "iLL:read", &file, &offset, &length) || file_of(s, file) < 0) {
        return NULL;
    }
    int64_t size = pc_size(s, file), end = length < size - offset ? offset + length : size;
    PyObject *result = PyBytes_FromStringAndSize(NULL, offset < end ? end - offset : 0);
    char *into = result == NULL ? NULL : PyBytes_AsString(result);
    uint8_t buffer[BLOCK];
    for (int64_t at = offset; result != NULL && at < end;) {
        int64_t block = at / BLOCK, stop = (block + 1) * BLOCK < end ? (block + 1) * BLOCK : end;
        const uint8_t *content = pc_block(s, file, block, buffer);
        if (content == NULL) {
            Py_CLEAR(result);
            break;
        }
        memcpy(into + (at - offset), content + at % BLOCK, (size_t)(stop - at));
        at = stop;
    }
    return result;
}

static PyObject *survivors_patch(PyObject *self, PyObject *args) {
    return pc_patch((Survivors *)self, args);
}

static PyObject *survivors_fill(PyObject *self, PyObject *args) {
    return pc_fill((Survivors *)self, args);
}

static PyMethodDef methods[] = {
    {"survives", survivors_survives, METH_O, "Whether an update survived."},
    {"differing", survivors_differing, METH_VARARGS,
     "Of both deltas, a range and some others, what survives in one state only."},
    {"size", survivors_size, METH_O, "The length of a file."},
    {"block", survivors_block, METH_VARARGS, "One whole block, as if the file went on behind its end."},
    {"read", survivors_read, METH_VARARGS, "Content of a file, cut off at its end."},
    {"patch", survivors_patch, METH_VARARGS, "Write some blocks of a file, up to an offset."},
    {"fill", survivors_fill, METH_VARARGS, "Write what is not zero into a range that reads as zeros."},
    {NULL, NULL, 0, NULL},
};

PC_TYPE_SPEC(pc_survivors_type, "Survivors", Survivors,
             {Py_tp_doc,
              (void *)"The updates that survived in one crash state, and what files hold with them."},
             {Py_tp_new, survivors_new}, {Py_tp_dealloc, survivors_free}, {Py_tp_methods, methods});
