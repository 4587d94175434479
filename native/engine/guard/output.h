/* Writing records into a segment, one behind the other. */
#ifndef POWERCUT_GUARD_OUTPUT_H
#define POWERCUT_GUARD_OUTPUT_H

#include "guard/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Bytes that are written together: then they are given to the disk, so that no later sync has much to wait
 * for. Nothing ends while it waits for a disk. */
enum { PC_AT_ONCE = 4 << 20 };

struct pc_guard_output {
    int file;
    uint32_t salt;
    char *buffer; /* made when it is needed */
    size_t filled;
    uint64_t written; /* bytes that are in the file */
};

/* A record, with the right checksum; false: errno. */
bool pc_guard_put(struct pc_guard_output *output, const struct pc_guard_record *record, const char *data);
bool pc_guard_flush(struct pc_guard_output *output);

/* Waits until what was written is on its way to the disk: no promise, only less to do for the next sync. */
void pc_write_back(int file);
/* Writes all of it, at an offset or (-1) where the file is; false: errno. */
bool pc_write_all(int file, const char *data, size_t size, off_t at);

#endif
