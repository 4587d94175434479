/* Reads the memory of a stopped process in large pieces.
 *
 * Before: the process is stopped by us (or at least traced). After: reads give what the process holds, or
 * fail; they never give bytes of another process or of an earlier stop, as pc_memory_start drops all that was
 * read.
 */
#ifndef POWERCUT_STACKS_UNWIND_MEMORY_H
#define POWERCUT_STACKS_UNWIND_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "stacks/reads.h"

#define PC_WINDOW_BYTES 16384u
#define PC_WINDOWS      4u

struct pc_window {
    uint64_t base;
    uint64_t size; /* 0: empty */
    uint8_t data[PC_WINDOW_BYTES];
};

struct pc_target_memory {
    pid_t pid;
    unsigned next;          /* the window to give up next */
    struct pc_reads *reads; /* told what results depend on; NULL: nobody asks */
    struct pc_window windows[PC_WINDOWS];
};

void pc_memory_start(struct pc_target_memory *memory, pid_t pid);

struct pc_range {
    uint64_t base, size;
};

/* Brings ranges (at most PC_WINDOWS, each up to PC_WINDOW_BYTES) into windows with one system call, up to the
 * first byte that is not mapped. */
void pc_memory_fetch(struct pc_target_memory *memory, const struct pc_range *ranges, unsigned count);

bool pc_memory_holds(const struct pc_target_memory *memory, uint64_t address, uint64_t length);

bool pc_memory_read(struct pc_target_memory *memory, uint64_t address, void *out, uint64_t length);

static inline bool pc_memory_u64(struct pc_target_memory *memory, uint64_t address, uint64_t *out) {
    for (unsigned i = 0; i < PC_WINDOWS; i++) {
        const struct pc_window *w = &memory->windows[i];
        uint64_t at = address - w->base;
        if (w->size >= 8 && at <= w->size - 8) {
            memcpy(out, w->data + at, 8);
            return true;
        }
    }
    return pc_memory_read(memory, address, out, 8);
}

#endif
