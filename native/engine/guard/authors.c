/* Who made each word of a pool what it is (src/powercut/guard/versions.py).
 *
 * Before: what a pool holds, for each word whether its author is known, and changes, oldest first. After: the
 * pool holds them, and it is known which words each of them made what they are. */
#include "engine.h"
#include "guard/authorship.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8 };
enum { FREED = PC_AUTHOR_CHANGER + 1 }; /* no change: the words have no author any more */

struct change { /* log.py: CHANGE */
    int64_t record, offset, size, position;
    uint32_t segment;
    uint16_t who;
    uint16_t fill; /* all bytes are the first one */
};

struct piece { /* pieces.py: PIECE */
    int64_t record, start, end;
};

struct replay {
    char *image;
    unsigned char *known; /* one for each word */
    int64_t size;
    struct piece *pieces;
    size_t count, capacity;
};

static bool add(struct replay *replay, struct piece piece) {
    struct piece *last = replay->count ? &replay->pieces[replay->count - 1] : NULL;
    if (last && last->record == piece.record && last->end == piece.start) {
        last->end = piece.end;
        return true;
    }
    if (replay->count == replay->capacity) {
        size_t capacity = replay->capacity ? 2 * replay->capacity : 256;
        struct piece *more = realloc(replay->pieces, capacity * sizeof *more);
        if (!more)
            return false;
        replay->pieces = more;
        replay->capacity = capacity;
    }
    replay->pieces[replay->count++] = piece;
    return true;
}

/* The bytes of a change, or NULL if they are not where it says. */
static const char *data_of(const struct change *change, PyObject *segments) {
    PyObject *segment = change->segment < (size_t)PyList_GET_SIZE(segments)
                            ? PyList_GET_ITEM(segments, change->segment)
                            : NULL;
    if (!segment || !PyBytes_Check(segment))
        return NULL;
    int64_t left = PyBytes_GET_SIZE(segment), wanted = change->fill ? 1 : change->size;
    if (change->position < 0 || change->position > left || wanted > left - change->position)
        return NULL;
    return PyBytes_AS_STRING(segment) + change->position;
}

static bool apply(struct replay *replay, const struct change *change, const char *data) {
    int64_t end = change->size < replay->size - change->offset ? change->offset + change->size : replay->size;
    for (int64_t at = change->offset, next; at < end; at = next) {
        next = (at / WORD + 1) * WORD < end ? (at / WORD + 1) * WORD : end;
        unsigned char *known = &replay->known[at / WORD];
        char now[WORD];
        if (change->fill)
            memset(now, data[0], WORD);
        else
            memcpy(now, data + (at - change->offset), (size_t)(next - at));
        bool same = memcmp(replay->image + at, now, (size_t)(next - at)) == 0;
        if (!pc_is_new_version(same, *known, change->who))
            continue;
        memcpy(replay->image + at, now, (size_t)(next - at));
        *known = change->who != PC_AUTHOR_UNKNOWN;
        if (!add(replay, (struct piece){change->record, at, next}))
            return false;
    }
    return true;
}

static void forget(struct replay *replay, const struct change *change) {
    int64_t end = change->size < replay->size - change->offset ? change->offset + change->size : replay->size;
    memset(replay->known + change->offset / WORD, 0,
           (size_t)((end + WORD - 1) / WORD - change->offset / WORD));
}

static PyObject *replay_all(struct replay *replay, PyObject *segments, const Py_buffer *changes) {
    for (Py_ssize_t i = 0; i + (Py_ssize_t)sizeof(struct change) <= changes->len;
         i += sizeof(struct change)) {
        struct change change;
        memcpy(&change, (const char *)changes->buf + i, sizeof change);
        if (change.offset < 0 || change.offset >= replay->size || change.size <= 0)
            continue; /* what lies behind the end of a pool is not followed */
        if (change.who == FREED) {
            forget(replay, &change);
            continue;
        }
        const char *data = data_of(&change, segments);
        if (!data)
            return PyErr_Format(PyExc_ValueError, "record %lld has no data", (long long)change.record);
        if (!apply(replay, &change, data))
            return PyErr_NoMemory();
    }
    return PyBytes_FromStringAndSize((const char *)replay->pieces,
                                     (Py_ssize_t)(replay->count * sizeof *replay->pieces));
}

PyObject *engine_guard_authors(PyObject *self, PyObject *args) {
    Py_buffer image, known, changes;
    PyObject *segments, *result = NULL;
    if (!PyArg_ParseTuple(args, "w*w*O!y*:guard_authors", &image, &known, &PyList_Type, &segments, &changes))
        return NULL;
    struct replay replay = {.image = image.buf, .known = known.buf, .size = image.len};
    if (known.len < (image.len + WORD - 1) / WORD)
        PyErr_SetString(PyExc_ValueError, "each word needs a mark");
    else
        result = replay_all(&replay, segments, &changes);
    free(replay.pieces);
    PyBuffer_Release(&image);
    PyBuffer_Release(&known);
    PyBuffer_Release(&changes);
    return result;
}
