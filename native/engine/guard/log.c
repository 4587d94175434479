/* Finding the records of a checkpoint log (native/runtime/guard/log_format.h).
 *
 * Before: the content of a segment, written by whatever was killed whenever. After: all records whose
 * checksum is right, and those in a group. What lies between them, holes or garbage, is passed over. */
#include "engine.h"
#include "guard/records.h"

#include "runtime/guard/checksum.h"

#include <stdlib.h>

uint32_t pc_guard_sum(const char *record, uint64_t size, uint32_t salt) {
    char line[PC_GUARD_ALIGN]; /* of the record, with zeros behind its end */
    struct pc_checksum sum = pc_checksum_begin(salt);
    for (uint64_t at = 0; at < size; at += sizeof line) {
        uint64_t part = size - at < sizeof line ? size - at : sizeof line;
        memcpy(line, record + at, part);
        memset(line + part, 0, sizeof line - part);
        if (at == 0)
            memset(line, 0, sizeof(((struct pc_guard_record *)0)->checksum));
        pc_checksum_add(&sum, line, sizeof line);
    }
    return pc_checksum_end(&sum);
}

static bool is_record(const char *at, uint64_t left, uint32_t salt) {
    struct pc_guard_record record;
    if (left < sizeof record)
        return false;
    memcpy(&record, at, sizeof record);
    uint64_t data = pc_guard_written(record.kind, record.size);
    return record.kind != 0 && record.kind <= PC_GUARD_GROUP && data <= PC_GUARD_MOST &&
           data <= left - sizeof record && pc_guard_sum(at, sizeof record + data, salt) == record.checksum;
}

/* The words of a member that it has, in their order; behind them, NULL: they are cut short. */
static const char *take_words(struct pc_guard_record *record, unsigned has, const char *at, const char *end) {
    uint64_t *words[] = {&record->offset, &record->site, &record->transaction};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (has >> i & 1) {
            if (end - at < 8)
                return NULL;
            memcpy(words[i], at, 8);
            at += 8;
        }
    return at;
}

static bool each_member(struct pc_guard_record record, const char *at, pc_guard_visit *visit, void *with) {
    struct pc_guard_member member;
    for (const char *end = at + record.size; end - at >= (ptrdiff_t)sizeof member; record.sequence++) {
        memcpy(&member, at, sizeof member);
        at = take_words(&record, member.has, at + sizeof member, end);
        record.size = member.size;
        record.kind = member.kind;
        record.flags = member.flags;
        record.pool = member.pool;
        uint64_t data = pc_guard_written(member.kind, member.size);
        if (!at || member.kind == PC_GUARD_GROUP || data > (uint64_t)(end - at))
            break; /* not as the library writes it */
        if (!visit(with, &record, at))
            return false;
        at += (data + 7) & ~(uint64_t)7;
    }
    return true;
}

bool pc_guard_each(const char *segment, uint64_t size, pc_guard_visit *visit, void *with) {
    struct pc_guard_segment head = {0};
    struct pc_guard_record record;
    if (size >= sizeof head)
        memcpy(&head, segment, sizeof head);
    for (uint64_t at = sizeof head, slot; at < size; at += slot) {
        slot = PC_GUARD_ALIGN;
        if (!is_record(segment + at, size - at, head.salt))
            continue;
        memcpy(&record, segment + at, sizeof record);
        const char *data = segment + at + sizeof record;
        slot = pc_guard_slot(&record);
        record.checksum = 0;
        if (record.kind == PC_GUARD_GROUP ? !each_member(record, data, visit, with)
                                          : !visit(with, &record, data))
            return false;
    }
    return true;
}

PyObject *engine_guard_checksum(PyObject *self, PyObject *args) {
    Py_buffer record;
    unsigned salt;
    if (!PyArg_ParseTuple(args, "y*I:guard_checksum", &record, &salt))
        return NULL;
    PyObject *sum = NULL;
    if (record.len < (Py_ssize_t)sizeof(struct pc_guard_record))
        PyErr_SetString(PyExc_ValueError, "a record has a head");
    else
        sum = PyLong_FromUnsignedLong(pc_guard_sum(record.buf, (uint64_t)record.len, salt));
    PyBuffer_Release(&record);
    return sum;
}

struct found {
    const char *segment;
    struct place {
        struct pc_guard_record record;
        uint64_t position; /* of its data */
    } *places;
    size_t count, room;
};

static bool add(void *with, const struct pc_guard_record *record, const char *data) {
    struct found *found = with;
    if (found->count == found->room) {
        size_t room = found->room ? 2 * found->room : 4096;
        struct place *larger = realloc(found->places, room * sizeof *larger);
        if (!larger)
            return false;
        found->places = larger;
        found->room = room;
    }
    found->places[found->count++] = (struct place){*record, (uint64_t)(data - found->segment)};
    return true;
}

PyObject *engine_guard_records(PyObject *self, PyObject *args) {
    Py_buffer segment;
    if (!PyArg_ParseTuple(args, "y*:guard_records", &segment))
        return NULL;
    struct found found = {.segment = segment.buf};
    bool good = pc_guard_each(segment.buf, (uint64_t)segment.len, add, &found);
    PyBuffer_Release(&segment);
    PyObject *result = good ? PyBytes_FromStringAndSize((const char *)found.places,
                                                        (Py_ssize_t)(found.count * sizeof *found.places))
                            : PyErr_NoMemory();
    free(found.places);
    return result;
}
