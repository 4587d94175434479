/* Finding the records of a checkpoint log (native/runtime/guard/log_format.h).
 *
 * Before: the content of a segment, written by whatever was killed whenever. After: the offsets of all
 * records whose checksum is right. What lies between them, holes or garbage, is passed over. */
#include "engine.h"
#include "guard_records.h"

#include "runtime/guard/checksum.h"

#include <stdbool.h>
#include <stdlib.h>

uint32_t pc_guard_sum(const struct pc_guard_record *record, const char *data, uint32_t salt) {
    uint32_t skip = sizeof record->checksum;
    uint32_t sum = pc_crc32c(salt, (const char *)record + skip, sizeof *record - skip);
    return pc_crc32c(sum, data, pc_guard_written(record->kind, record->size));
}

static bool is_record(const char *at, uint64_t left, uint32_t salt) {
    struct pc_guard_record record;
    if (left < sizeof record)
        return false;
    memcpy(&record, at, sizeof record);
    uint64_t data = pc_guard_written(record.kind, record.size);
    return record.kind != 0 && record.kind <= PC_GUARD_BASE && data <= PC_GUARD_MOST &&
           data <= left - sizeof record && pc_guard_sum(&record, at + sizeof record, salt) == record.checksum;
}

uint64_t pc_guard_next(const char *segment, uint64_t at, uint64_t size) {
    struct pc_guard_segment head = {0};
    if (size >= sizeof head)
        memcpy(&head, segment, sizeof head);
    while (at < size && !is_record(segment + at, size - at, head.salt))
        at += PC_GUARD_ALIGN;
    return at < size ? at : size;
}

PyObject *engine_guard_checksum(PyObject *self, PyObject *args) {
    Py_buffer data;
    unsigned salt;
    if (!PyArg_ParseTuple(args, "y*I:guard_checksum", &data, &salt))
        return NULL;
    uint32_t sum = pc_crc32c(salt, data.buf, (size_t)data.len);
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(sum);
}

PyObject *engine_guard_records(PyObject *self, PyObject *args) {
    Py_buffer segment;
    if (!PyArg_ParseTuple(args, "y*:guard_records", &segment))
        return NULL;
    uint64_t size = (uint64_t)segment.len, count = 0, at = sizeof(struct pc_guard_segment);
    uint64_t *found = malloc((size / PC_GUARD_ALIGN + 1) * sizeof *found);
    while (found && (at = pc_guard_next(segment.buf, at, size)) < size) {
        struct pc_guard_record record;
        memcpy(&record, (const char *)segment.buf + at, sizeof record);
        found[count++] = at;
        at += pc_guard_slot(&record);
    }
    PyBuffer_Release(&segment);
    PyObject *result =
        found ? PyBytes_FromStringAndSize((const char *)found, (Py_ssize_t)(count * sizeof *found))
              : PyErr_NoMemory();
    free(found);
    return result;
}
