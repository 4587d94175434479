/* Hashes of the blocks of one file, and their exclusive or, which follows from state to state.
 *
 * A block of zeros has the hash 0, so holes and what lies behind the end of the file count for nothing. The
 * hash is of 128 bits: equal images are judged once, so two different blocks must not meet in a lifetime. It
 * is XXH3 of the XXH3 of the bytes and the number of the block, so that the same bytes elsewhere have
 * another. */
#include "history.h"

/* All of it is in the header: there is nothing to link with, and nothing needed at run time. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct hash {
    uint64_t low, high;
};

struct slot {
    int64_t block; /* -1: free */
    struct hash hash;
};

typedef struct {
    PyObject_HEAD struct slot *slots;
    size_t mask, count;
    struct hash total;
} BlockHashes;

/* The hash of a whole block at a place; 0 if it is nothing but zeros. */
static struct hash hash_block(const uint8_t *bytes, int64_t block) {
    static const uint8_t zeros[BLOCK];
    if (memcmp(bytes, zeros, BLOCK) == 0) {
        return (struct hash){0, 0};
    }
    struct {
        XXH128_hash_t content;
        int64_t block;
    } placed = {XXH3_128bits(bytes, BLOCK), block};
    XXH128_hash_t hash = XXH3_128bits(&placed, sizeof(placed));
    return (struct hash){hash.low64, hash.high64};
}

static struct slot *find(BlockHashes *self, int64_t block) {
    size_t at = ((uint64_t)block * 0x9E3779B97F4A7C15u >> 20) & self->mask;
    while (self->slots[at].block >= 0 && self->slots[at].block != block) {
        at = (at + 1) & self->mask;
    }
    return &self->slots[at];
}

static bool make_room(BlockHashes *self, size_t slots) {
    struct slot *old = self->slots;
    size_t before = old == NULL ? 0 : self->mask + 1;
    struct slot *larger = malloc(slots * sizeof(*larger));
    if (larger == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < slots; i++) {
        larger[i] = (struct slot){-1, {0, 0}};
    }
    self->slots = larger;
    self->mask = slots - 1;
    for (size_t i = 0; i < before; i++) {
        if (old[i].block >= 0) {
            *find(self, old[i].block) = old[i];
        }
    }
    free(old);
    return true;
}

static bool put(BlockHashes *self, const Survivors *s, int32_t file, int64_t block, int64_t size) {
    struct hash hash = {0, 0};
    if (block < 0) {
        PyErr_SetString(PyExc_ValueError, "there is no such block");
        return false;
    }
    if (block < (size + BLOCK - 1) / BLOCK) {
        uint8_t buffer[BLOCK], cut[BLOCK];
        const uint8_t *content = pc_block(s, file, block, buffer);
        if (content == NULL) {
            return false;
        }
        if (size - block * BLOCK < BLOCK) {
            size_t inside = (size_t)(size - block * BLOCK);
            memcpy(cut, content, inside);
            memset(cut + inside, 0, BLOCK - inside);
            content = cut;
        }
        hash = hash_block(content, block);
    }
    if (2 * (self->count + 1) > self->mask + 1 && !make_room(self, 2 * (self->mask + 1))) {
        return false;
    }
    struct slot *slot = find(self, block);
    self->count += slot->block < 0;
    self->total.low ^= slot->hash.low ^ hash.low;
    self->total.high ^= slot->hash.high ^ hash.high;
    *slot = (struct slot){block, hash};
    return true;
}

/* Every block that may hold anything but zeros. */
static bool put_all(BlockHashes *self, const Survivors *s, int32_t file, int64_t size) {
    int64_t offset = 0;
    while ((offset = pc_data_from(s->history, file, offset)) < NEVER) {
        if (!put(self, s, file, offset / BLOCK, size)) {
            return false;
        }
        offset = (offset / BLOCK + 1) * BLOCK;
    }
    return true;
}

static bool put_some(BlockHashes *self, const Survivors *s, int32_t file, PyObject *blocks, int64_t size) {
    PyObject *iterator = PyObject_GetIter(blocks), *item;
    bool good = iterator != NULL;
    while (good && (item = PyIter_Next(iterator)) != NULL) {
        int64_t block = PyLong_AsLongLong(item);
        Py_DECREF(item);
        good = !PyErr_Occurred() && put(self, s, file, block, size);
    }
    Py_XDECREF(iterator);
    return good && !PyErr_Occurred();
}

static PyObject *update(PyObject *object, PyObject *args) {
    BlockHashes *self = (BlockHashes *)object;
    PyObject *survivors, *blocks;
    int file;
    long long size;
    if (!PyArg_ParseTuple(args, "O!iOL:update", &pc_survivors_type, &survivors, &file, &blocks, &size)) {
        return NULL;
    }
    const Survivors *s = (Survivors *)survivors;
    if (!pc_is_object(s->history, file)) {
        return PyErr_Format(PyExc_IndexError, "there is no object %d", file);
    }
    if (!(blocks == Py_None ? put_all(self, s, file, size) : put_some(self, s, file, blocks, size))) {
        return NULL;
    }
    return PyBytes_FromStringAndSize((const char *)&self->total, sizeof(self->total));
}

static PyObject *hashes_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (!PyArg_ParseTuple(args, ":BlockHashes")) {
        return NULL;
    }
    BlockHashes *self = (BlockHashes *)type->tp_alloc(type, 0);
    if (self != NULL && !make_room(self, 8)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void hashes_free(PyObject *self) {
    free(((BlockHashes *)self)->slots);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"update", update, METH_VARARGS, "Hash blocks anew (None: all); the exclusive or of all hashes."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject pc_block_hashes_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "powercut._engine.BlockHashes",
    .tp_doc = "The hashes of one file's blocks, and their exclusive or.",
    .tp_basicsize = sizeof(BlockHashes),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = hashes_new,
    .tp_dealloc = hashes_free,
    .tp_methods = methods,
};
