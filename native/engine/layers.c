/* Layers: a folder of the user's, shown with a layer of changes over it (an overlay).
 *
 * Nothing here writes to the folder. What other processes see stays as it is. */
#include "engine.h"

#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERROR_SIZE = 512, PATHS = 4 };

/* Up to PATHS paths; the number of those given, or -1 with an exception set. To be freed by let_go. */
static int take_paths(PyObject *args, const char *format, PyObject **paths) {
    if (!PyArg_ParseTuple(args, format, PyUnicode_FSConverter, &paths[0], PyUnicode_FSConverter, &paths[1],
                          PyUnicode_FSConverter, &paths[2], PyUnicode_FSConverter, &paths[3])) {
        return -1;
    }
    return PATHS;
}

static void let_go(PyObject **paths) {
    for (int i = 0; i < PATHS; i++) {
        Py_CLEAR(paths[i]);
    }
}

static PyObject *answer(int kind, const char *error) {
    if (kind < 0) {
        PyErr_SetString(PyExc_OSError, error);
        return NULL;
    }
    return PyLong_FromLong(kind);
}

PyObject *engine_mount_layers(PyObject *self, PyObject *args) {
    PyObject *paths[PATHS] = {NULL};
    char error[ERROR_SIZE] = "";
    if (take_paths(args, "O&O&O&O&:mount_layers", paths) < 0) {
        return NULL;
    }
    int kind =
        pc_mount_layers(PyBytes_AS_STRING(paths[0]), PyBytes_AS_STRING(paths[1]), PyBytes_AS_STRING(paths[2]),
                        PyBytes_AS_STRING(paths[3]), error, sizeof(error));
    let_go(paths);
    return answer(kind, error);
}

PyObject *engine_enter_layers(PyObject *self, PyObject *args) {
    PyObject *paths[PATHS] = {NULL};
    char error[ERROR_SIZE] = "";
    if (!PyArg_ParseTuple(args, "O&O&O&:enter_layers", PyUnicode_FSConverter, &paths[0],
                          PyUnicode_FSConverter, &paths[1], PyUnicode_FSConverter, &paths[2])) {
        return NULL;
    }
    int kind = pc_enter_layers(PyBytes_AS_STRING(paths[0]), PyBytes_AS_STRING(paths[1]),
                               PyBytes_AS_STRING(paths[2]), error, sizeof(error));
    let_go(paths);
    return answer(kind, error);
}

/* Whether this process's table of mappings says of a mapped file what fstat says. */
static bool is_mapped_as(const struct stat *status) {
    char line[1024], wanted[64];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    snprintf(wanted, sizeof(wanted), " %02x:%02x %llu ", major(status->st_dev), minor(status->st_dev),
             (unsigned long long)status->st_ino);
    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
        found = strstr(line, wanted) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Whether a file is told from others in the same way before and after it is changed: by one device and
 * number, those of its mappings, too. */
static const char *probe(const char *folder, const char *name, uint64_t *number) {
    struct stat top, before, after;
    int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || fstat(root, &top) != 0 || fstatat(root, name, &before, AT_SYMLINK_NOFOLLOW) != 0) {
        return "a file cannot be found in it";
    }
    *number = before.st_ino;
    if (before.st_dev != top.st_dev) {
        return "its files are on devices of their own";
    }
    if (!S_ISREG(before.st_mode)) {
        return NULL;
    }
    int file = openat(root, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) {
        return errno == EACCES || errno == EROFS ? NULL : "a file in it cannot be opened";
    }
    if (fstat(file, &after) != 0 || after.st_dev != before.st_dev || after.st_ino != before.st_ino) {
        return "the number of a file changes when it is changed";
    }
    if (after.st_size == 0) {
        return NULL;
    }
    void *mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
    return mapped == MAP_FAILED || is_mapped_as(&after) ? NULL : "mapped files have other numbers";
}

/* What the child says. */
struct found {
    int kind;
    uint64_t number; /* of the file, as the overlay has it */
    char why[ERROR_SIZE];
};

/* In a child, whose namespaces vanish with it. */
static void try_it(PyObject **paths, int report) {
    char error[ERROR_SIZE] = "";
    const char *folder = PyBytes_AS_STRING(paths[2]), *name = PyBytes_AS_STRING(paths[3]), *wrong = NULL;
    int kind = pc_enter_layers(PyBytes_AS_STRING(paths[0]), PyBytes_AS_STRING(paths[1]), folder, error,
                               sizeof(error));
    struct found found = {.kind = kind < 0 ? 0 : kind};
    if (kind > 0) {
        wrong = probe(folder, name, &found.number);
    }
    if (wrong != NULL) {
        snprintf(error, sizeof(error), "%s", wrong);
        found.kind = 0;
    }
    strcpy(found.why, error);
    ssize_t written = write(report, &found, sizeof(found));
    _exit(written == (ssize_t)sizeof(found) ? 0 : 1);
}

PyObject *engine_try_layers(PyObject *self, PyObject *args) {
    PyObject *paths[PATHS] = {NULL};
    struct found found = {.why = "the trial process failed"};
    int ends[2];
    if (take_paths(args, "O&O&O&O&:try_layers", paths) < 0) {
        return NULL;
    }
    if (pipe(ends) == 0) {
        pid_t child = fork();
        if (child == 0) {
            try_it(paths, ends[1]);
        }
        close(ends[1]);
        if (child < 0 || read(ends[0], &found, sizeof(found)) != (ssize_t)sizeof(found)) {
            found = (struct found){.why = "the trial process failed"};
        }
        close(ends[0]);
        if (child > 0) {
            waitpid(child, NULL, 0);
        }
    }
    let_go(paths);
    return Py_BuildValue("(isK)", found.kind, found.why, (unsigned long long)found.number);
}
