/* Writing blocks of an image into a file, neighbours together, without a Python object for each. */
#include "history.h"

#include <errno.h>
#include <unistd.h>

#define ROOM (64 * BLOCK) /* bytes that are written at once */

/* Bytes that wait to be written at an offset. Only one is in use at a time: the interpreter's lock is held.
 */
static struct {
    int fd;
    int64_t offset;
    size_t filled;
    uint8_t bytes[ROOM];
} pending;

static bool flush(void) {
    size_t written = 0;
    while (written < pending.filled) {
        ssize_t more = pwrite(pending.fd, pending.bytes + written, pending.filled - written,
                              (off_t)(pending.offset + (int64_t)written));
        if (more == 0) {
            errno = ENOSPC;
        }
        if (more <= 0 && !(more < 0 && errno == EINTR)) {
            PyErr_SetFromErrno(PyExc_OSError);
            return false;
        }
        written += more > 0 ? (size_t)more : 0;
    }
    pending.filled = 0;
    return true;
}

static bool add(int64_t offset, const uint8_t *content, size_t length) {
    bool neighbour = pending.filled > 0 && pending.offset + (int64_t)pending.filled == offset;
    if ((!neighbour || pending.filled + length > ROOM) && !flush()) {
        return false;
    }
    if (pending.filled == 0) {
        pending.offset = offset;
    }
    memcpy(pending.bytes + pending.filled, content, length);
    pending.filled += length;
    return true;
}

static int compare(const void *a, const void *b) {
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* The numbers in a set, sorted; NULL with an exception. */
static int64_t *sorted(PyObject *set, Py_ssize_t *count) {
    *count = PySet_Size(set);
    int64_t *numbers = *count < 0 ? NULL : PyMem_New(int64_t, *count + 1);
    PyObject *iterator = numbers == NULL ? NULL : PyObject_GetIter(set), *item;
    for (Py_ssize_t i = 0; iterator != NULL && (item = PyIter_Next(iterator)) != NULL; i++) {
        numbers[i] = PyLong_AsLongLong(item);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    if (numbers == NULL && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    if (PyErr_Occurred()) {
        PyMem_Free(numbers);
        return NULL;
    }
    qsort(numbers, (size_t)*count, sizeof(*numbers), compare);
    return numbers;
}

PyObject *pc_patch(Survivors *s, PyObject *args) {
    int file, fd;
    PyObject *blocks;
    long long end;
    if (!PyArg_ParseTuple(args, "iiO!L:patch", &fd, &file, &PySet_Type, &blocks, &end)) {
        return NULL;
    }
    Py_ssize_t count;
    int64_t *numbers = pc_is_object(s->history, file) ? sorted(blocks, &count) : NULL;
    if (numbers == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_IndexError, "there is no object %d", file);
    }
    pending.fd = fd;
    pending.filled = 0;
    bool good = true;
    uint8_t buffer[BLOCK];
    for (Py_ssize_t i = 0; good && i < count && numbers[i] * BLOCK < end; i++) {
        int64_t offset = numbers[i] * BLOCK;
        const uint8_t *content = pc_block(s, file, numbers[i], buffer);
        good = content != NULL &&
               add(offset, content, offset + BLOCK > end ? (size_t)(end - offset) : (size_t)BLOCK);
    }
    good = good && flush();
    PyMem_Free(numbers);
    if (!good) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static bool is_zero(const uint8_t *bytes, size_t length) {
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

PyObject *pc_fill(Survivors *s, PyObject *args) {
    int file, fd;
    long long start, end;
    if (!PyArg_ParseTuple(args, "iiLL:fill", &fd, &file, &start, &end)) {
        return NULL;
    }
    if (!pc_is_object(s->history, file)) {
        return PyErr_Format(PyExc_IndexError, "there is no object %d", file);
    }
    pending.fd = fd;
    pending.filled = 0;
    uint8_t buffer[BLOCK];
    int64_t written = start, offset = pc_data_from(s->history, file, start);
    while (offset < end) {
        int64_t stop = (offset / BLOCK + 1) * BLOCK < end ? (offset / BLOCK + 1) * BLOCK : end;
        const uint8_t *content = pc_block(s, file, offset / BLOCK, buffer);
        if (content == NULL) {
            return NULL;
        }
        content += offset % BLOCK;
        if (!is_zero(content, (size_t)(stop - offset))) {
            if (!add(offset, content, (size_t)(stop - offset))) {
                return NULL;
            }
            written = stop;
        }
        offset = pc_data_from(s->history, file, stop);
    }
    if (!flush()) {
        return NULL;
    }
    return PyLong_FromLongLong(written);
}
