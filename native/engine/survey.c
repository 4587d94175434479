/* A survey: what a folder holds, seen from outside, without reading a byte of any file.
 *
 * Before: a folder that others may be changing. After: a row for everything in it but what is left out, each
 * folder before what lies in it, and the paths that the rows point at. What vanishes meanwhile is left out,
 * links are not followed, other file systems mounted below are counted only. */
#include "engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Mirrored in src/powercut.image.survey.py. */
struct row {
    uint64_t inode;
    int64_t size, mtime;
    uint64_t
        looks; /* a hash of its path, kind, mode, size and time of change, for folders without the last two */
    uint32_t mode, links, uid, gid;
    uint64_t path; /* where it starts among the paths */
    uint32_t length;
    int32_t folder; /* the row of the folder that it lies in; -1: the surveyed folder itself */
};

struct survey {
    struct row *rows;
    char *paths;
    size_t count, room, filled, path_room;
    dev_t device;
    long left_out, foreign;
    PyObject *patterns;   /* a tuple of bytes */
    char first[PATH_MAX]; /* the first thing that was left out */
};

static bool grow(void **content, size_t *room, size_t needed, size_t size) {
    if (needed <= *room) {
        return true;
    }
    size_t larger = *room == 0 ? 4096 : *room;
    while (larger < needed) {
        larger *= 2;
    }
    void *moved = realloc(*content, larger * size);
    if (moved == NULL) {
        return false;
    }
    *content = moved;
    *room = larger;
    return true;
}

enum standing { DATA, LEFT_OUT, UNSPOKEN };

/* A pattern with a slash is of whole paths, one without of names; one that starts with a slash is no pattern
 * but a path, of which nothing is said. */
static enum standing standing_of(const struct survey *survey, const char *path, const char *name) {
    enum standing found = DATA;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(survey->patterns); i++) {
        const char *pattern = PyBytes_AS_STRING(PyTuple_GET_ITEM(survey->patterns, i));
        if (pattern[0] == '/' && strcmp(pattern + 1, path) == 0) {
            return UNSPOKEN;
        }
        if (pattern[0] != '/' && fnmatch(pattern, strchr(pattern, '/') != NULL ? path : name, 0) == 0) {
            found = LEFT_OUT;
        }
    }
    return found;
}

static uint64_t looks_of(const char *path, size_t length, const struct stat *status) {
    int64_t facts[3] = {status->st_mode, 0, 0};
    if (!S_ISDIR(status->st_mode)) {
        facts[1] = status->st_size;
        facts[2] = status->st_mtim.tv_sec * 1000000000LL + status->st_mtim.tv_nsec;
    }
    return XXH3_64bits_withSeed(path, length, XXH3_64bits(facts, sizeof(facts)));
}

/* False when memory ran out. */
static bool add(struct survey *survey, const char *path, int32_t folder, const struct stat *status) {
    size_t length = strlen(path);
    if (!grow((void **)&survey->rows, &survey->room, survey->count + 1, sizeof(struct row)) ||
        !grow((void **)&survey->paths, &survey->path_room, survey->filled + length, 1)) {
        return false;
    }
    survey->rows[survey->count++] = (struct row){
        .inode = status->st_ino,
        .size = status->st_size,
        .mtime = status->st_mtim.tv_sec * 1000000000LL + status->st_mtim.tv_nsec,
        .looks = looks_of(path, length, status),
        .mode = status->st_mode,
        .links = (uint32_t)status->st_nlink,
        .uid = status->st_uid,
        .gid = status->st_gid,
        .path = survey->filled,
        .length = (uint32_t)length,
        .folder = folder,
    };
    memcpy(survey->paths + survey->filled, path, length);
    survey->filled += length;
    return true;
}

static bool add_name(struct survey *survey, DIR *stream, int32_t row, char *path, size_t length,
                     const char *name) {
    struct stat status;
    size_t size = strlen(name), slash = length > 0;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || length + slash + size >= PATH_MAX) {
        return true;
    }
    if (slash) {
        path[length] = '/';
    }
    memcpy(path + length + slash, name, size + 1);
    enum standing standing = standing_of(survey, path, name);
    if (standing == LEFT_OUT && survey->left_out++ == 0) {
        strcpy(survey->first, path);
    }
    if (standing != DATA) {
        return true;
    }
    if (fstatat(dirfd(stream), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
    }
    if (status.st_dev != survey->device) {
        survey->foreign++;
        return true;
    }
    return add(survey, path, row, &status);
}

static bool list(struct survey *survey, int root, int32_t row) {
    char path[PATH_MAX];
    size_t length = survey->rows[row].length;
    memcpy(path, survey->paths + survey->rows[row].path, length);
    path[length] = '\0';
    int folder = openat(root, length == 0 ? "." : path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = folder < 0 ? NULL : fdopendir(folder);
    if (stream == NULL) {
        if (folder >= 0) {
            close(folder);
        }
        return true; /* gone, or not for us: neither for the program */
    }
    bool enough = true;
    const struct dirent *entry;
    while (enough && (entry = readdir(stream)) != NULL) {
        enough = add_name(survey, stream, row, path, length, entry->d_name);
    }
    closedir(stream);
    return enough;
}

/* 0 or errno. */
static int walk(struct survey *survey, const char *path) {
    struct stat status;
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || fstat(root, &status) != 0) {
        int code = errno;
        if (root >= 0) {
            close(root);
        }
        return code;
    }
    survey->device = status.st_dev;
    bool enough = add(survey, "", -1, &status);
    for (size_t row = 0; enough && row < survey->count && row < INT32_MAX; row++) {
        if (S_ISDIR(survey->rows[row].mode)) {
            enough = list(survey, root, (int32_t)row);
        }
    }
    close(root);
    return enough ? 0 : ENOMEM;
}

PyObject *engine_survey(PyObject *self, PyObject *args) {
    PyObject *path, *found = NULL;
    struct survey survey = {0};
    if (!PyArg_ParseTuple(args, "O&O!:survey", PyUnicode_FSConverter, &path, &PyTuple_Type,
                          &survey.patterns)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(survey.patterns); i++) {
        if (!PyBytes_Check(PyTuple_GET_ITEM(survey.patterns, i))) {
            PyErr_SetString(PyExc_TypeError, "a pattern must be bytes");
            Py_DECREF(path);
            return NULL;
        }
    }
    errno = walk(&survey, PyBytes_AS_STRING(path));
    if (errno != 0) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AS_STRING(path));
    } else {
        found =
            Py_BuildValue("(y#y#lly)", (char *)survey.rows, (Py_ssize_t)(survey.count * sizeof(struct row)),
                          survey.paths == NULL ? "" : survey.paths, (Py_ssize_t)survey.filled,
                          survey.left_out, survey.foreign, survey.first);
    }
    free(survey.rows);
    free(survey.paths);
    Py_DECREF(path);
    return found;
}
