/* Chains: which update last touched a piece of data, and what stores, flushes and fences do to that.
 *
 * Before: the events of a trace come in order; Python applies the calls, and hands over runs of memory
 * records (trace_format.h) whole. After `run`: the updates of its stores, as columns, with what each needs
 * (the update before it in its cache line or block, and the last truncate) and, in old and new ones, from
 * when on they are guaranteed. The rules are those of states/memory_rules.py; M1 to M5 are here because
 * programs store far more often than they call. */
#include "engine.h"

#include <stdbool.h>
#include <stdint.h>

#include "numbers.h"
#include "trace_format.h"

#define NEVER      ((int64_t)1 << 62)
#define LINE       64
#define KEY_SHIFT  44 /* a key: object above, number of the piece below */
#define MOST_FILES 65536

enum file_flag { PERSISTENT = 1, CACHE_SURVIVES = 2 };

/* Updates that are guaranteed at the next fence of a thread. */
struct thread {
    int64_t tid;
    int32_t *updates;
    size_t count, room;
};

struct piece {
    uint64_t key;
    int32_t last; /* the last update of the piece */
    bool used;
};

static inline bool pieces_used(const struct piece *piece) {
    return piece->used;
}

static inline uint64_t pieces_key(const struct piece *piece) {
    return piece->key;
}

static inline uint64_t pieces_hash(uint64_t key) {
    return key * PC_GOLDEN >> 20;
}

static inline bool pieces_same(uint64_t one, uint64_t other) {
    return one == other;
}

PC_HASH_TABLE(pieces, struct piece, uint64_t, 1024)

typedef struct {
    PyObject_HEAD struct pieces pieces;
    int64_t unit;              /* bytes of a piece where no cache lines count */
    struct pc_numbers managed; /* objects that persist by cache lines */
    struct thread *threads;
    size_t thread_count;
    int64_t running; /* the thread of the records that come */
} Chains;

/* A mapped file, as it is during one run. */
struct file {
    int32_t obj,
        cut; /* cut: the last truncate or hole, which freed the blocks from freed_from to freed_to; or -1 */
    int64_t size, freed_from, freed_to;
    int flags;
};

struct files {
    struct file *table; /* by number; obj -1: none */
    int count;
};

/* The updates that a run makes, and the columns of those before. */
struct work {
    int64_t *old_guaranteed;
    const int64_t *old_first;
    const int32_t *old_needs;
    int32_t old_count; /* updates before the run */
    int64_t old_need_count;
    int32_t count; /* new updates */
    int32_t *obj, *event;
    int64_t *start, *length, *data, *guaranteed, *need_end;
    int32_t *needs;
    int64_t need_count;
    int32_t *waiting; /* a stack for the closure of a guarantee */
    size_t waiting_room;
};

/* Makes `update` the last of a piece; the one before it, -1: none, -2: without memory. */
static int32_t follow(Chains *self, uint64_t key, int32_t update) {
    struct piece *piece = pieces_take(&self->pieces, key);
    if (piece == NULL)
        return -2;
    int32_t before = piece->used ? piece->last : -1;
    *piece = (struct piece){key, update, true};
    return before;
}

static int32_t last_of(const Chains *self, uint64_t key) {
    const struct piece *piece = pieces_find(&self->pieces, key);
    return piece != NULL ? piece->last : -1;
}

static uint64_t key_of(int32_t obj, int64_t piece) {
    return ((uint64_t)obj << KEY_SHIFT) | (uint64_t)piece;
}

/* Threads */

static struct thread *thread_of(Chains *self, int64_t tid) {
    for (size_t i = 0; i < self->thread_count; i++) {
        if (self->threads[i].tid == tid)
            return &self->threads[i];
    }
    struct thread *threads = realloc(self->threads, (self->thread_count + 1) * sizeof(*threads));
    if (threads == NULL)
        return NULL;
    self->threads = threads;
    threads[self->thread_count] = (struct thread){.tid = tid};
    return &threads[self->thread_count++];
}

static bool on_its_way(Chains *self, int32_t update) {
    struct thread *thread = thread_of(self, self->running);
    if (thread == NULL)
        return false;
    if (thread->count == thread->room) {
        size_t room = thread->room == 0 ? 64 : 2 * thread->room;
        int32_t *updates = realloc(thread->updates, room * sizeof(*updates));
        if (updates == NULL)
            return false;
        thread->updates = updates;
        thread->room = room;
    }
    thread->updates[thread->count++] = update;
    return true;
}

/* Guarantees */

static int64_t *guaranteed_of(struct work *work, int32_t update) {
    return update < work->old_count ? &work->old_guaranteed[update]
                                    : &work->guaranteed[update - work->old_count];
}

static const int32_t *needs_of(const struct work *work, int32_t update, int64_t *count) {
    if (update < work->old_count) {
        *count = work->old_first[update + 1] - work->old_first[update];
        return work->old_needs + work->old_first[update];
    }
    int32_t number = update - work->old_count;
    int64_t first = number == 0 ? 0 : work->need_end[number - 1];
    *count = work->need_end[number] - first;
    return work->needs + first;
}

static bool wait_for(struct work *work, size_t count, int32_t update) {
    if (count == work->waiting_room) {
        size_t room = work->waiting_room == 0 ? 256 : 2 * work->waiting_room;
        int32_t *waiting = realloc(work->waiting, room * sizeof(*waiting));
        if (waiting == NULL)
            return false;
        work->waiting = waiting;
        work->waiting_room = room;
    }
    work->waiting[count] = update;
    return true;
}

/* R10: with an update, all that it needs. */
static bool guarantee(struct work *work, int32_t update, int64_t time) {
    size_t count = 0;
    if (!wait_for(work, count++, update))
        return false;
    while (count > 0) {
        int32_t some = work->waiting[--count];
        int64_t *known = guaranteed_of(work, some), need_count;
        if (*known != NEVER)
            continue;
        *known = time;
        const int32_t *needs = needs_of(work, some, &need_count);
        for (int64_t i = 0; i < need_count; i++) {
            if (!wait_for(work, count++, needs[i]))
                return false;
        }
    }
    return true;
}

/* Records */

static bool store(Chains *self, struct work *work, const struct pc_memory *record, const struct file *file,
                  int64_t data, int64_t event) {
    int64_t left = file->size - (int64_t)record->offset;
    int64_t length = record->size < left ? record->size : left;
    if (length <= 0)
        return true; /* what lies behind the end is not in the file */
    int32_t number = work->count, update = work->old_count + number;
    bool persistent = (file->flags & PERSISTENT) != 0;
    int64_t piece = (int64_t)record->offset / (persistent ? LINE : self->unit);
    int32_t before = follow(self, key_of(file->obj, piece), update);
    if (before == -2)
        return false;
    if (before >= 0)
        work->needs[work->need_count++] = before;
    if (file->cut >= 0 && file->freed_from <= (int64_t)record->offset &&
        (int64_t)record->offset < file->freed_to)
        work->needs[work->need_count++] = file->cut;
    work->obj[number] = file->obj;
    work->event[number] = (int32_t)event;
    work->start[number] = (int64_t)record->offset;
    work->length[number] = length;
    work->data[number] = data;
    work->guaranteed[number] = NEVER;
    work->need_end[number] = work->need_count;
    work->count++;
    if (!persistent)
        return true;
    if ((record->kind & ~PC_MEMORY_REST) == PC_MEMORY_STORE_NONTEMPORAL)
        return on_its_way(self, update);
    return (file->flags & CACHE_SURVIVES) == 0 || guarantee(work, update, 2 * event + 1);
}

static bool flush(Chains *self, struct work *work, const struct pc_memory *record, const struct file *file,
                  int64_t event) {
    if ((file->flags & PERSISTENT) == 0)
        return true;
    int32_t last = last_of(self, key_of(file->obj, (int64_t)record->offset / LINE));
    if (last < 0)
        return true;
    return record->size == PC_FLUSH_CLFLUSH ? guarantee(work, last, 2 * event + 1) : on_its_way(self, last);
}

static bool fence(Chains *self, struct work *work, int64_t event) {
    struct thread *thread = thread_of(self, self->running);
    if (thread == NULL)
        return false;
    for (size_t i = 0; i < thread->count; i++) {
        if (!guarantee(work, thread->updates[i], 2 * event + 1))
            return false;
    }
    thread->count = 0;
    return true;
}

static bool apply(Chains *self, struct work *work, const uint8_t *records, Py_ssize_t count, int64_t offset,
                  int64_t first_event, const struct files *files) {
    static const struct file none = {.obj = -1};
    for (Py_ssize_t i = 0; i < count; i++) {
        struct pc_memory record;
        memcpy(&record, records + i * sizeof(record), sizeof(record));
        const struct file *file = record.file < files->count ? &files->table[record.file] : &none;
        int64_t data = offset + i * (int64_t)sizeof(record);
        bool fine = true;
        switch (record.kind & ~PC_MEMORY_REST) {
        case PC_MEMORY_THREAD:
            self->running = (int64_t)record.value;
            break;
        case PC_MEMORY_STORE:
        case PC_MEMORY_STORE_NONTEMPORAL:
        case PC_MEMORY_STORE_LOCKED:
        case PC_MEMORY_STORE_KERNEL:
            fine = file->obj < 0 || store(self, work, &record, file, data, first_event + i);
            break;
        case PC_MEMORY_FLUSH:
            fine = file->obj < 0 || flush(self, work, &record, file, first_event + i);
            break;
        case PC_MEMORY_FENCE:
            fine = fence(self, work, first_event + i);
            break;
        default:
            break;
        }
        if (!fine)
            return false;
    }
    return true;
}

/* Python */

static bool make_work(struct work *work, Py_ssize_t count) {
    size_t most = (size_t)count + 1;
    work->obj = malloc(most * sizeof(*work->obj));
    work->event = malloc(most * sizeof(*work->event));
    work->start = malloc(most * sizeof(*work->start));
    work->length = malloc(most * sizeof(*work->length));
    work->data = malloc(most * sizeof(*work->data));
    work->guaranteed = malloc(most * sizeof(*work->guaranteed));
    work->need_end = malloc(most * sizeof(*work->need_end));
    work->needs = malloc(2 * most * sizeof(*work->needs));
    return work->obj && work->event && work->start && work->length && work->data && work->guaranteed &&
           work->need_end && work->needs;
}

static void free_work(struct work *work) {
    free(work->obj);
    free(work->event);
    free(work->start);
    free(work->length);
    free(work->data);
    free(work->guaranteed);
    free(work->need_end);
    free(work->needs);
    free(work->waiting);
}

/* Adds a file of the list to the table, which grows with the highest number. */
static bool read_file(PyObject *item, struct files *files) {
    int number;
    struct file file;
    long long size, freed_from, freed_to;
    if (!PyArg_ParseTuple(item, "iiLi(iLL)", &number, &file.obj, &size, &file.flags, &file.cut, &freed_from,
                          &freed_to))
        return false;
    if (number < 0 || number >= MOST_FILES) {
        PyErr_SetString(PyExc_ValueError, "a file number that cannot be");
        return false;
    }
    file.size = size;
    file.freed_from = freed_from;
    file.freed_to = freed_to;
    if (number >= files->count) {
        struct file *table = realloc(files->table, (size_t)(number + 1) * sizeof(*table));
        if (table == NULL) {
            PyErr_NoMemory();
            return false;
        }
        files->table = table;
        for (; files->count <= number; files->count++)
            table[files->count].obj = -1;
    }
    files->table[number] = file;
    return true;
}

static PyObject *columns_of(const struct work *work) {
    Py_ssize_t n = work->count;
    /* The last column but one: where the needs of each new update end, among the needs of all. */
    for (Py_ssize_t i = 0; i < n; i++)
        work->need_end[i] += work->old_need_count;
    return Py_BuildValue("(y#y#y#y#y#y#y#y#)", (char *)work->obj, n * 4, (char *)work->event, n * 4,
                         (char *)work->start, n * 8, (char *)work->length, n * 8, (char *)work->data, n * 8,
                         (char *)work->guaranteed, n * 8, (char *)work->need_end, n * 8, (char *)work->needs,
                         (Py_ssize_t)work->need_count * 4);
}

static PyObject *run_in(Chains *self, const Py_buffer *trace, Py_ssize_t offset, Py_ssize_t count,
                        long long first_event, PyObject *list, struct work *work) {
    if (offset < 0 || count < 0 || count > (trace->len - offset) / (Py_ssize_t)sizeof(struct pc_memory)) {
        PyErr_SetString(PyExc_ValueError, "a run outside the trace");
        return NULL;
    }
    struct files files = {0};
    PyObject *columns = NULL;
    bool known = true;
    for (Py_ssize_t i = 0; known && i < PyList_Size(list); i++)
        known = read_file(PyList_GetItem(list, i), &files);
    if (known && make_work(work, count) &&
        apply(self, work, (const uint8_t *)trace->buf + offset, count, offset, first_event, &files))
        columns = columns_of(work);
    else if (known)
        PyErr_NoMemory();
    free(files.table);
    free_work(work);
    return columns;
}

static PyObject *chains_run(Chains *self, PyObject *args) {
    Py_buffer trace, guaranteed, first, needs;
    Py_ssize_t offset, count;
    long long first_event;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "y*nnLO!w*y*y*", &trace, &offset, &count, &first_event, &PyList_Type, &list,
                          &guaranteed, &first, &needs))
        return NULL;
    struct work work = {
        .old_guaranteed = guaranteed.buf,
        .old_first = first.buf,
        .old_needs = needs.buf,
        .old_count = (int32_t)(guaranteed.len / 8),
        .old_need_count = needs.len / 4,
    };
    PyObject *columns = run_in(self, &trace, offset, count, first_event, list, &work);
    PyBuffer_Release(&trace);
    PyBuffer_Release(&guaranteed);
    PyBuffer_Release(&first);
    PyBuffer_Release(&needs);
    return columns;
}

static PyObject *chains_manage(Chains *self, PyObject *obj) {
    long number = PyLong_AsLong(obj);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return pc_numbers_add(&self->managed, (int32_t)number) < 0 ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

static PyObject *chains_manages(Chains *self, PyObject *obj) {
    long number = PyLong_AsLong(obj);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(pc_numbers_has(&self->managed, (int32_t)number));
}

static int append(PyObject *list, long number) {
    PyObject *item = PyLong_FromLong(number);
    int failed = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    return failed;
}

static PyObject *chains_follow(Chains *self, PyObject *args) {
    int obj, update;
    long long start, length;
    if (!PyArg_ParseTuple(args, "iLLi", &obj, &start, &length, &update))
        return NULL;
    int64_t unit = pc_numbers_has(&self->managed, obj) ? LINE : self->unit;
    PyObject *before = PyList_New(0);
    int32_t known = -1;
    for (int64_t piece = start / unit; before != NULL && piece <= (start + length - 1) / unit; piece++) {
        int32_t last = follow(self, key_of(obj, piece), update);
        if (last == -2) {
            Py_CLEAR(before);
            PyErr_NoMemory();
        } else if (last >= 0 && last != known && append(before, last) != 0) {
            Py_CLEAR(before);
        }
        known = last; /* neighbours mostly have the same one; others may come twice, which does no harm */
    }
    return before;
}

static PyObject *chains_last_updates(Chains *self, PyObject *args) {
    int obj;
    long long low, high;
    if (!PyArg_ParseTuple(args, "iLL", &obj, &low, &high))
        return NULL;
    PyObject *found = PyList_New(0);
    if (found == NULL || !pc_numbers_has(&self->managed, obj))
        return found;
    for (size_t i = 0; i < self->pieces.size; i++) {
        const struct piece *piece = &self->pieces.slots[i];
        if (!piece->used || piece->key >> KEY_SHIFT != (uint64_t)obj)
            continue;
        int64_t start = (int64_t)(piece->key & (((uint64_t)1 << KEY_SHIFT) - 1)) * LINE;
        if (start < high && start + LINE > low && append(found, piece->last) != 0) {
            Py_DECREF(found);
            return NULL;
        }
    }
    return found;
}

static PyObject *chains_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    long long unit;
    if (!PyArg_ParseTuple(args, "L", &unit))
        return NULL;
    if (unit < LINE) {
        PyErr_SetString(PyExc_ValueError, "a piece of data is a cache line at least");
        return NULL;
    }
    Chains *self = pc_object_new(type);
    if (self == NULL)
        return NULL;
    self->unit = unit;
    if (!pieces_reserve(&self->pieces, 1) || !pc_numbers_reserve(&self->managed, 8)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void chains_free(Chains *self) {
    pieces_free(&self->pieces);
    pc_numbers_free(&self->managed);
    for (size_t i = 0; i < self->thread_count; i++)
        free(self->threads[i].updates);
    free(self->threads);
    pc_object_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"manage", (PyCFunction)chains_manage, METH_O, "From now on an object persists by cache lines."},
    {"manages", (PyCFunction)chains_manages, METH_O, "Whether an object persists by cache lines."},
    {"follow", (PyCFunction)chains_follow, METH_VARARGS, "Make an update the last of its pieces."},
    {"last_updates", (PyCFunction)chains_last_updates, METH_VARARGS, "The last update of each line."},
    {"run", (PyCFunction)chains_run, METH_VARARGS, "Apply a run of memory records; new columns."},
    {NULL, NULL, 0, NULL},
};

PC_TYPE_SPEC(pc_chains_type, "Chains", Chains,
             {Py_tp_doc, (void *)"Which update last touched a piece of data, and what caches hold back."},
             {Py_tp_new, chains_new}, {Py_tp_dealloc, chains_free}, {Py_tp_methods, methods});
