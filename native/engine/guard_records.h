/* The records of a checkpoint log as they stand in its segments (native/runtime/guard/log_format.h). */
#ifndef POWERCUT_GUARD_RECORDS_H
#define POWERCUT_GUARD_RECORDS_H

#include "runtime/guard/log_format.h"

/* Bytes from a record to the next. */
static inline uint64_t pc_guard_slot(const struct pc_guard_record *record) {
    uint64_t bytes = sizeof *record + pc_guard_written(record->kind, record->size);
    return (bytes + PC_GUARD_ALIGN - 1) & ~(uint64_t)(PC_GUARD_ALIGN - 1);
}

/* Where the next whole record of a segment is, from `at` on; `size`: there is none. */
uint64_t pc_guard_next(const char *segment, uint64_t at, uint64_t size);

/* The checksum of a record with its data, in a segment with some salt. */
uint32_t pc_guard_sum(const struct pc_guard_record *record, const char *data, uint32_t salt);

#endif
