/* The lint pass, called from Python: buffers in, tables of what was found out. */
#include "engine.h"
#include "lint/lint.h"

#include <sys/mman.h>
#include <unistd.h>

/* What a pause needs to know. */
struct caller {
    PyThreadState *python;
    bool mapped;      /* the trace is a mapped file */
    uint64_t dropped; /* up to here, its pages were given back */
};

/* Lets the user interrupt, and gives back the pages of the trace that were read: they stay in the page cache,
 * but do not count as memory of this process. */
static bool pause_pass(struct lint *lint, uint64_t reached) {
    struct caller *caller = lint->context;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t start = caller->dropped / page * page, end = reached / page * page;
    if (caller->mapped && end > start) {
        madvise((void *)(uintptr_t)(lint->trace + start), end - start, MADV_DONTNEED);
        caller->dropped = end;
    }
    PyEval_RestoreThread(caller->python);
    bool go_on = PyErr_CheckSignals() == 0;
    caller->python = PyEval_SaveThread();
    return go_on;
}

static PyObject *bytes_of(const void *data, size_t size) {
    return PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
}

/* (inode, stores, flags: 1 flushed, 2 msynced, 4 synced after a store, 8 gone) of each file, from number 1.
 */
static PyObject *files_of(const struct lint *lint) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 1; list != NULL && i <= lint->file_count; i++) {
        const struct lint_file *file = &lint->files[i];
        unsigned flags = file->flushed | file->msynced << 1 | file->synced << 2 | file->gone << 3;
        PyObject *entry =
            Py_BuildValue("KKI", (unsigned long long)file->inode, (unsigned long long)file->stores, flags);
        if (entry == NULL || PyList_Append(list, entry) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *result_of(const struct lint *lint) {
    const struct lint_site *sites = lint->sites.count != 0 ? lint->sites.sites + 1 : NULL;
    return Py_BuildValue("NNNNNKKK", bytes_of(sites, lint->sites.count * sizeof(*sites)), files_of(lint),
                         bytes_of(lint->storing, lint->stack_count),
                         bytes_of(lint->executed, lint->stack_count * sizeof(*lint->executed)),
                         bytes_of(lint->useful, lint->useful_count * sizeof(*lint->useful)),
                         (unsigned long long)lint->stores, (unsigned long long)lint->flushes,
                         (unsigned long long)lint->fences);
}

static PyObject *run(struct lint *lint, bool mapped) {
    struct caller caller = {.mapped = mapped};
    lint->pause = pause_pass;
    lint->context = &caller;
    caller.python = PyEval_SaveThread();
    pc_lint_walk(lint);
    PyEval_RestoreThread(caller.python);
    switch (lint->error) {
    case LINT_NO_MEMORY:
        return PyErr_NoMemory();
    case LINT_INTERRUPTED:
        return NULL;
    case LINT_BROKEN:
        PyErr_SetString(PyExc_ValueError, lint->why);
        return NULL;
    default:
        return result_of(lint);
    }
}

PyObject *engine_lint_memory(PyObject *self, PyObject *args) {
    Py_buffer events, trace, internal;
    int eadr, mapped;
    if (!PyArg_ParseTuple(args, "y*y*y*pp:lint_memory", &events, &trace, &internal, &eadr, &mapped)) {
        return NULL;
    }
    struct lint lint = {.events = events.buf,
                        .event_count = (uint64_t)events.len / sizeof(struct pc_event),
                        .trace = trace.buf,
                        .trace_size = (uint64_t)trace.len,
                        .internal = internal.buf,
                        .stack_count = (uint32_t)internal.len,
                        .eadr = eadr != 0};
    PyObject *result = NULL;
    lint.executed = calloc(lint.stack_count + 1, sizeof(*lint.executed));
    lint.storing = calloc(lint.stack_count + 1, 1);
    if (lint.executed == NULL || lint.storing == NULL) {
        PyErr_NoMemory();
    } else {
        result = run(&lint, mapped != 0);
    }
    pc_lint_lines_free(&lint);
    pc_lint_files_free(&lint);
    free(lint.sites.sites);
    lint_places_free(&lint.sites.places);
    free(lint.storing);
    free(lint.executed);
    free(lint.useful);
    PyBuffer_Release(&events);
    PyBuffer_Release(&trace);
    PyBuffer_Release(&internal);
    return result;
}
