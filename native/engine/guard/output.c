#define _GNU_SOURCE
#include "guard/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool pc_write_all(int file, const char *data, size_t size, off_t at) {
    while (size > 0) {
        ssize_t done = at < 0 ? write(file, data, size) : pwrite(file, data, size, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        size -= (size_t)done;
        at += at < 0 ? 0 : done;
    }
    return true;
}

void pc_write_back(int file) {
    sync_file_range(file, 0, 0,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

bool pc_guard_flush(struct pc_guard_output *output) {
    if (!pc_write_all(output->file, output->buffer, output->filled, -1))
        return false;
    output->written += output->filled;
    output->filled = 0;
    return true;
}

bool pc_guard_put(struct pc_guard_output *output, const struct pc_guard_record *record, const char *data) {
    uint64_t size = pc_guard_written(record->kind, record->size), slot = pc_guard_slot(record);
    if (!output->buffer && !(output->buffer = malloc(PC_AT_ONCE)))
        return false;
    if (output->filled + slot > PC_AT_ONCE) {
        if (!pc_guard_flush(output))
            return false;
        pc_write_back(output->file);
    }
    struct pc_guard_record summed = *record;
    char *to = output->buffer + output->filled;
    memcpy(to, record, sizeof *record);
    memcpy(to + sizeof *record, data, size);
    memset(to + sizeof *record + size, 0, slot - sizeof *record - size);
    summed.checksum = pc_guard_sum(to, sizeof *record + size, output->salt);
    memcpy(to, &summed, sizeof summed);
    output->filled += slot;
    return true;
}
