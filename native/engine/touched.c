/* Where two images differ if just some updates survive in one and not in the other. */
#include "history.h"

/* What is being collected. Blocks of one file mostly come together, so its set is at hand. */
struct found {
    const History *history;
    PyObject *entries; /* ENTRY updates, whose names are Python's business */
    PyObject *blocks;  /* file -> set of blocks, or None for all */
    PyObject *meta;    /* objects whose size, mode or attributes may differ */
    int32_t *sizes;    /* SIZE updates */
    Py_ssize_t size_count, size_room;
    int32_t file;    /* whose blocks are in `set`; -1 for none */
    PyObject *set;   /* borrowed from `blocks`; None if the whole file differs */
    int64_t block;   /* the last one that went into `set`: words of one page come together, too */
    int32_t changed; /* the last object that went into `meta` */
};

static bool use_file(struct found *f, int32_t file) {
    if (f->file == file) {
        return true;
    }
    PyObject *key = PyLong_FromLong(file);
    PyObject *set = key == NULL ? NULL : PyDict_GetItemWithError(f->blocks, key);
    if (set == NULL && key != NULL && !PyErr_Occurred()) {
        PyObject *made = PySet_New(NULL);
        if (made != NULL && PyDict_SetItem(f->blocks, key, made) == 0) {
            set = made;
        }
        Py_XDECREF(made);
    }
    Py_XDECREF(key);
    f->file = set == NULL ? -1 : file;
    f->set = set;
    f->block = -1;
    return set != NULL;
}

static bool add_block(struct found *f, int64_t block) {
    if (f->set == Py_None || block == f->block) {
        return true;
    }
    f->block = block;
    PyObject *number = PyLong_FromLongLong(block);
    bool good = number != NULL && PySet_Add(f->set, number) == 0;
    Py_XDECREF(number);
    return good;
}

static bool add_meta(struct found *f, int32_t obj) {
    if (obj == f->changed) {
        return true;
    }
    PyObject *number = PyLong_FromLong(obj);
    bool good = number != NULL && PySet_Add(f->meta, number) == 0;
    Py_XDECREF(number);
    f->changed = obj;
    return good;
}

/* The whole file may differ. */
static bool add_file(struct found *f, int32_t file) {
    PyObject *key = PyLong_FromLong(file);
    bool good = key != NULL && PyDict_SetItem(f->blocks, key, Py_None) == 0;
    Py_XDECREF(key);
    f->file = file;
    f->set = Py_None;
    return good;
}

static bool add_size(struct found *f, int32_t update) {
    if (f->size_count == f->size_room) {
        Py_ssize_t room = f->size_room ? 2 * f->size_room : 64;
        int32_t *larger = PyMem_Resize(f->sizes, int32_t, room);
        if (larger == NULL) {
            PyErr_NoMemory();
            return false;
        }
        f->sizes = larger;
        f->size_room = room;
    }
    f->sizes[f->size_count++] = update;
    return true;
}

static bool add_update(struct found *f, PyObject *item) {
    const History *h = f->history;
    long u = PyLong_AsLong(item);
    if (u < 0 || u >= h->update_count) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_IndexError, "there is no update %ld", u);
        }
        return false;
    }
    int32_t obj = h->obj[u];
    switch (h->kind[u]) {
    case DATA:
    case FILL:
        if (!use_file(f, obj)) {
            return false;
        }
        for (int64_t block = h->start[u] / BLOCK; block * BLOCK < h->start[u] + h->length[u]; block++) {
            if (!add_block(f, block)) {
                return false;
            }
        }
        return true;
    case SIZE:
        return add_size(f, (int32_t)u);
    case ENTRY:
        return PyList_Append(f->entries, item) == 0;
    case CUT:
    case ZERO:
        return add_meta(f, obj) && add_file(f, obj);
    default:
        return add_meta(f, obj);
    }
}

/* Whether a truncate of a file leaves content behind its end, which a later size uncovers. */
static bool keeps_content(const History *h, struct span cuts) {
    for (int64_t i = cuts.first; i < cuts.last; i++) {
        if (h->kind[h->cut_updates[i]] == CUT && h->length[h->cut_updates[i]] > 0) {
            return true;
        }
    }
    return false;
}

/* Blocks that sizes of a file, from one to another, may uncover, and those of the old and the new end. */
static bool add_grown(struct found *f, int32_t first, int32_t last) {
    const History *h = f->history;
    int32_t file = h->obj[first];
    struct span sizes = pc_owned(h, h->size_updates, h->size_count, file);
    int64_t position = pc_issued_end(h->size_updates, sizes, first);
    int64_t low = position > sizes.first ? h->start[h->size_updates[position - 1]] : h->base_sizes[file];
    int64_t high = h->start[last];
    struct span cuts = h->cut_count ? pc_owned(h, h->cut_updates, h->cut_count, file) : (struct span){0, 0};
    if (keeps_content(h, cuts)) {
        return add_meta(f, file) && add_file(f, file);
    }
    if (cuts.first < cuts.last || !h->ascending[file]) { /* anything below may show */
        low = 0;
        for (int64_t i = sizes.first; i < sizes.last; i++) {
            int64_t size = h->start[h->size_updates[i]];
            high = size > high ? size : high;
        }
    }
    if (!add_meta(f, file) || !use_file(f, file)) {
        return false;
    }
    if (f->set == Py_None) {
        return true;
    }
    int64_t end = pc_block_key(file, (high + BLOCK - 1) / BLOCK);
    int64_t mask = ((int64_t)1 << 40) - 1;
    for (int64_t i = pc_find_block(h, pc_block_key(file, low / BLOCK));
         i < h->block_count && h->block_keys[i] < end; i++) {
        if (!add_block(f, h->block_keys[i] & mask)) {
            return false;
        }
    }
    return add_block(f, low / BLOCK) && add_block(f, high > 0 ? (high - 1) / BLOCK : 0);
}

static const History *sorted_history; /* what the comparison looks at; the interpreter's lock is held */

static int by_owner(const void *a, const void *b) {
    int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
    int32_t mine = sorted_history->obj[one], theirs = sorted_history->obj[other];
    return mine != theirs ? (mine > theirs) - (mine < theirs) : (one > other) - (one < other);
}

static bool add_all_grown(struct found *f) {
    sorted_history = f->history;
    if (f->size_count > 1) {
        qsort(f->sizes, (size_t)f->size_count, sizeof(*f->sizes), by_owner);
    }
    for (Py_ssize_t i = 0, end; i < f->size_count; i = end) {
        end = i + 1;
        while (end < f->size_count && f->history->obj[f->sizes[end]] == f->history->obj[f->sizes[i]]) {
            end++;
        }
        if (!add_grown(f, f->sizes[i], f->sizes[end - 1])) {
            return false;
        }
    }
    return true;
}

PyObject *pc_touched(History *history, PyObject *differing) {
    struct found f = {.history = history, .file = -1, .changed = -1};
    f.entries = PyList_New(0);
    f.blocks = PyDict_New();
    f.meta = PySet_New(NULL);
    PyObject *iterator = PyObject_GetIter(differing), *item, *result = NULL;
    bool good = f.entries != NULL && f.blocks != NULL && f.meta != NULL && iterator != NULL;
    while (good && (item = PyIter_Next(iterator)) != NULL) {
        good = add_update(&f, item);
        Py_DECREF(item);
    }
    good = good && !PyErr_Occurred() && add_all_grown(&f);
    if (good) {
        result = PyTuple_Pack(3, f.entries, f.blocks, f.meta);
    }
    PyMem_Free(f.sizes);
    Py_XDECREF(iterator);
    Py_XDECREF(f.entries);
    Py_XDECREF(f.blocks);
    Py_XDECREF(f.meta);
    return result;
}
