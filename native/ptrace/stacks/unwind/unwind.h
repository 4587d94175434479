/* Walks the native call stack of a stopped thread.
 *
 * Before: registers and memory of a thread that is stopped in a system call, and its process's mappings.
 * After: the program counters from the innermost frame outwards, already moved back into the call
 * instruction. The walk stops where the information ends; it may be cut short, it never runs away.
 */
#ifndef POWERCUT_STACKS_UNWIND_UNWIND_H
#define POWERCUT_STACKS_UNWIND_UNWIND_H

#include "stacks/modules/maps.h"
#include "stacks/unwind/memory.h"

#include <sys/user.h>

#define PC_UNWIND_DEPTH 128

struct pc_native_frame {
    const struct pc_mapping *mapping; /* 0: in no known executable mapping */
    uint64_t address;                 /* in the process */
};

/* Rows of call frame information, by module and address; for all processes together. */
struct pc_rows;
struct pc_rows *pc_rows_new(void);
void pc_rows_free(struct pc_rows *rows);

struct pc_unwound {
    unsigned count; /* of frames */
    bool lost;    /* the walk met a program counter that no mapping holds: the mappings may be out of date */
    uint64_t top; /* the highest stack address that mattered */
    struct pc_native_frame frames[PC_UNWIND_DEPTH];
};

void pc_unwind(struct pc_rows *rows, const struct pc_maps *maps, struct pc_target_memory *memory,
               const struct user_regs_struct *regs, struct pc_unwound *out);

#endif
