/* Private views: a mount namespace of one's own, a tmpfs in it, an image shown in the place of the data
 * folder.
 *
 * Nothing here changes what other processes see, and the kernel undoes all of it when the process ends. */
#include "engine.h"

#include "ptrace/filter.h"
#include "view/view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define ERROR_SIZE 512

/* Lets go of the paths; None, or NULL when an exception is set. */
static PyObject *done(PyObject *one, PyObject *other) {
    Py_DECREF(one);
    Py_XDECREF(other);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *engine_enter_view(PyObject *self, PyObject *args) {
    PyObject *source, *target;
    char error[ERROR_SIZE] = "";
    if (!PyArg_ParseTuple(args, "O&O&:enter_view", PyUnicode_FSConverter, &source, PyUnicode_FSConverter,
                          &target)) {
        return NULL;
    }
    if (pc_enter_view(PyBytes_AS_STRING(source), PyBytes_AS_STRING(target), error, sizeof(error)) != 0) {
        PyErr_SetString(PyExc_OSError, error);
    }
    return done(source, target);
}

PyObject *engine_bind_mount(PyObject *self, PyObject *args) {
    PyObject *source, *target;
    if (!PyArg_ParseTuple(args, "O&O&:bind_mount", PyUnicode_FSConverter, &source, PyUnicode_FSConverter,
                          &target)) {
        return NULL;
    }
    if (mount(PyBytes_AS_STRING(source), PyBytes_AS_STRING(target), NULL, MS_BIND, NULL) != 0) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AS_STRING(target));
    }
    return done(source, target);
}

PyObject *engine_mount_tmpfs(PyObject *self, PyObject *args) {
    PyObject *path;
    const char *options;
    if (!PyArg_ParseTuple(args, "O&s:mount_tmpfs", PyUnicode_FSConverter, &path, &options)) {
        return NULL;
    }
    if (mount("powercut", PyBytes_AS_STRING(path), "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AS_STRING(path));
    }
    return done(path, NULL);
}

PyObject *engine_unmount(PyObject *self, PyObject *args) {
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&:unmount", PyUnicode_FSConverter, &path)) {
        return NULL;
    }
    if (umount2(PyBytes_AS_STRING(path), MNT_DETACH) != 0) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AS_STRING(path));
    }
    return done(path, NULL);
}

/* In a child, whose namespaces vanish with it: everything a worker does at its start. */
static void try_view(const char *folder, int report) {
    char error[ERROR_SIZE] = "";
    if (pc_enter_view(folder, folder, error, sizeof(error)) == 0 &&
        mount("powercut", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0) {
        snprintf(error, sizeof(error), "cannot mount a tmpfs: %s", strerror(errno));
    }
    ssize_t written = write(report, error, strlen(error));
    _exit(written == 0 ? 0 : 1);
}

static void run_trial(const char *folder, char *error, size_t size) {
    int ends[2];
    if (pipe(ends) != 0) {
        snprintf(error, size, "cannot make a pipe: %s", strerror(errno));
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        try_view(folder, ends[1]);
    }
    close(ends[1]);
    ssize_t got = 0; /* a signal to us says nothing about mounts: Python answers it after the trial */
    while (child > 0 && (got = read(ends[0], error, size - 1)) < 0 && errno == EINTR) {
    }
    close(ends[0]);
    error[got > 0 ? got : 0] = '\0';
    int status = 1;
    pid_t ended = -1;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended != child || (status != 0 && error[0] == '\0')) {
        snprintf(error, size, "the trial process failed");
    }
}

/* A new folder for the trial, wherever one can be made: TMPDIR may name a place that is not there. */
static bool make_folder(char *folder, size_t size) {
    const char *bases[] = {getenv("TMPDIR"), "/tmp", "/dev/shm", "/var/tmp"};
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
        if (bases[i] == NULL || bases[i][0] == '\0') {
            continue;
        }
        snprintf(folder, size, "%s/powercut-view-XXXXXX", bases[i]);
        if (mkdtemp(folder) != NULL) {
            return true;
        }
    }
    return false;
}

PyObject *engine_can_enter_view(PyObject *self, PyObject *args) {
    char folder[ERROR_SIZE];
    char error[ERROR_SIZE] = "";
    if (!make_folder(folder, sizeof(folder))) {
        snprintf(error, sizeof(error), "cannot make a folder for temporary files: %s", strerror(errno));
    } else {
        run_trial(folder, error, sizeof(error));
        rmdir(folder);
    }
    return Py_BuildValue("(Os)", error[0] ? Py_False : Py_True, error);
}

PyObject *engine_install_filter(PyObject *self, PyObject *args) {
    int result = pc_install_filter();
    if (result != 0) {
        errno = -result;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}
