/* Inotify for Python: which names in which watched folders were touched.
 *
 * Events are folded into a dict {(watch, name): mask}, so that a check which writes a million times costs one
 * entry. The queue overflowing shows as the key (-1, b"") with IN_Q_OVERFLOW in its mask. */
#include "engine.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

PyObject *engine_watch_open(PyObject *self, PyObject *args) {
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

PyObject *engine_watch_add(PyObject *self, PyObject *args) {
    int fd;
    const char *path;
    unsigned int mask;
    if (!PyArg_ParseTuple(args, "iyI:watch_add", &fd, &path, &mask)) {
        return NULL;
    }
    int watch = inotify_add_watch(fd, path, mask);
    return watch < 0 ? PyErr_SetFromErrnoWithFilename(PyExc_OSError, path) : PyLong_FromLong(watch);
}

PyObject *engine_watch_remove(PyObject *self, PyObject *args) {
    int fd, watch;
    if (!PyArg_ParseTuple(args, "ii:watch_remove", &fd, &watch)) {
        return NULL;
    }
    /* The watch of a deleted folder is gone already: that is what the caller wants. */
    if (inotify_rm_watch(fd, watch) != 0 && errno != EINVAL) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

static int fold(PyObject *into, const struct inotify_event *event) {
    const char *name = event->len ? event->name : "";
    PyObject *key = Py_BuildValue("(iy)", event->wd, name);
    if (key == NULL) {
        return -1;
    }
    unsigned long mask = event->mask;
    PyObject *known = PyDict_GetItemWithError(into, key);
    if (known != NULL) {
        mask |= PyLong_AsUnsignedLong(known);
    }
    PyObject *value = PyErr_Occurred() ? NULL : PyLong_FromUnsignedLong(mask);
    int result = value == NULL ? -1 : PyDict_SetItem(into, key, value);
    Py_XDECREF(value);
    Py_DECREF(key);
    return result;
}

static int same(const struct inotify_event *a, const struct inotify_event *b) {
    return a->wd == b->wd && a->mask == b->mask && a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static int fold_buffer(PyObject *into, const char *buffer, ssize_t filled) {
    const struct inotify_event *last = NULL;
    int count = 0;
    for (ssize_t at = 0; at < filled; count++) {
        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
        if (last == NULL || !same(last, event)) {
            if (fold(into, event) != 0) {
                return -1;
            }
        }
        last = event;
        at += (ssize_t)sizeof(*event) + event->len;
    }
    return count;
}

PyObject *engine_watch_read(PyObject *self, PyObject *args) {
    int fd;
    PyObject *into;
    if (!PyArg_ParseTuple(args, "iO!:watch_read", &fd, &PyDict_Type, &into)) {
        return NULL;
    }
    char buffer[32768] __attribute__((aligned(__alignof__(struct inotify_event))));
    long total = 0;
    for (;;) {
        ssize_t filled = read(fd, buffer, sizeof(buffer));
        if (filled < 0 && errno == EINTR) {
            continue;
        }
        if (filled < 0 && errno != EAGAIN) {
            return PyErr_SetFromErrno(PyExc_OSError);
        }
        if (filled <= 0) {
            return PyLong_FromLong(total);
        }
        int count = fold_buffer(into, buffer, filled);
        if (count < 0) {
            return NULL;
        }
        total += count;
    }
}
