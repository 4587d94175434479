/* Finding the records of a checkpoint log (native/runtime/guard/log_format.h).
 *
 * Before: the content of a segment, written by whatever was killed whenever. After: the offsets of all
 * records whose checksum is right. What lies between them, holes or garbage, is passed over. */
#include "engine.h"

#include "runtime/guard/checksum.h"
#include "runtime/guard/log_format.h"

#include <stdlib.h>

/* The bytes of a record's data as they stand in the log. */
static uint64_t written(const struct pc_guard_record *record) {
    switch (record->kind) {
    case PC_GUARD_START:
    case PC_GUARD_MODULE:
    case PC_GUARD_POOL:
    case PC_GUARD_UPDATE:
    case PC_GUARD_FOUND:
        return record->size;
    case PC_GUARD_FILL:
        return 1;
    default:
        return 0;
    }
}

/* Bytes to the next record; 0: there is none here. */
static uint64_t length_of(const char *at, uint64_t left, uint32_t salt) {
    struct pc_guard_record record;
    if (left < sizeof record)
        return 0;
    memcpy(&record, at, sizeof record);
    uint64_t data = written(&record);
    if (record.kind == 0 || record.kind > PC_GUARD_COMMIT || data > PC_GUARD_MOST ||
        data > left - sizeof record)
        return 0;
    uint32_t skip = sizeof record.checksum;
    if (pc_crc32c(salt, at + skip, sizeof record - skip + data) != record.checksum)
        return 0;
    return (sizeof record + data + PC_GUARD_ALIGN - 1) & ~(uint64_t)(PC_GUARD_ALIGN - 1);
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
    uint64_t size = (uint64_t)segment.len, count = 0;
    uint64_t *found = malloc((size / PC_GUARD_ALIGN + 1) * sizeof *found);
    struct pc_guard_segment head = {0};
    if (size >= sizeof head)
        memcpy(&head, segment.buf, sizeof head);
    for (uint64_t at = sizeof(struct pc_guard_segment); found && at < size;) {
        uint64_t length = length_of((const char *)segment.buf + at, size - at, head.salt);
        if (length)
            found[count++] = at;
        at += length ? length : PC_GUARD_ALIGN;
    }
    PyBuffer_Release(&segment);
    PyObject *result =
        found ? PyBytes_FromStringAndSize((const char *)found, (Py_ssize_t)(count * sizeof *found))
              : PyErr_NoMemory();
    free(found);
    return result;
}
