/* Hashes of the blocks of one file, and their exclusive or, which follows from state to state.
 *
 * A block of zeros has the hash 0, so holes and what lies behind the end of the file count for nothing. The
 * hash is of 128 bits: equal images are judged once, so two different blocks must not meet in a lifetime. It
 * is XXH3 of the XXH3 of the bytes and the number of the block, so that the same bytes elsewhere have
 * another. */
#include "hash_table.h"
#include "history.h"

/* All of it is in the header: there is nothing to link with, and nothing needed at run time. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct hash {
    uint64_t low, high;
};

struct block_hash {
    int64_t after; /* the number of the block and one; 0: a free slot */
    struct hash hash;
};

static inline bool blocks_used(const struct block_hash *slot) {
    return slot->after != 0;
}

static inline int64_t blocks_key(const struct block_hash *slot) {
    return slot->after - 1;
}

static inline uint64_t blocks_hash(int64_t block) {
    return (uint64_t)block * PC_GOLDEN >> 20;
}

static inline bool blocks_same(int64_t one, int64_t other) {
    return one == other;
}

PC_HASH_TABLE(blocks, struct block_hash, int64_t, 8)

typedef struct {
    PyObject_HEAD struct blocks blocks;
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
    struct block_hash *slot = blocks_take(&self->blocks, block);
    if (slot == NULL) {
        PyErr_NoMemory();
        return false;
    }
    self->total.low ^= slot->hash.low ^ hash.low;
    self->total.high ^= slot->hash.high ^ hash.high;
    *slot = (struct block_hash){block + 1, hash};
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
    if (!PyArg_ParseTuple(args, "O!iOL:update", pc_survivors_type, &survivors, &file, &blocks, &size)) {
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
    return pc_object_new(type);
}

static void hashes_free(PyObject *self) {
    blocks_free(&((BlockHashes *)self)->blocks);
    pc_object_free(self);
}

static PyMethodDef methods[] = {
    {"update", update, METH_VARARGS, "Hash blocks anew (None: all); the exclusive or of all hashes."},
    {NULL, NULL, 0, NULL},
};

PC_TYPE_SPEC(pc_block_hashes_type, "BlockHashes", BlockHashes,
             {Py_tp_doc, (void *)"The hashes of one file's blocks, and their exclusive or."},
             {Py_tp_new, hashes_new}, {Py_tp_dealloc, hashes_free}, {Py_tp_methods, methods});
