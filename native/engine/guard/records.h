/* The records of a checkpoint log as they stand in its segments (native/runtime/guard/log_format.h). */
#ifndef POWERCUT_GUARD_RECORDS_H
#define POWERCUT_GUARD_RECORDS_H

#include "runtime/guard/log_format.h"

#include <stdbool.h>

/* Bytes from a record to the next. */
static inline uint64_t pc_guard_slot(const struct pc_guard_record *record) {
    uint64_t bytes = sizeof *record + pc_guard_written(record->kind, record->size);
    return (bytes + PC_GUARD_ALIGN - 1) & ~(uint64_t)(PC_GUARD_ALIGN - 1);
}

/* Gets a record, with no checksum, and its data; false: enough. */
typedef bool pc_guard_visit(void *with, const struct pc_guard_record *record, const char *data);

/* All whole records of a segment, members of groups one by one; false: a visit was enough. */
bool pc_guard_each(const char *segment, uint64_t size, pc_guard_visit *visit, void *with);

/* The checksum of a record with its data behind it, in a segment with some salt. */
uint32_t pc_guard_sum(const char *record, uint64_t size, uint32_t salt);

#endif
