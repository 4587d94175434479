/* One walk over a stack, shared between stacks/unwind/unwind.c (steps by call frame information) and
 * stacks/unwind/guess.c (steps where there is none).
 *
 * Before a step: registers as they are in one frame. After one that gave true: as they are in its caller.
 */
#ifndef POWERCUT_STACKS_UNWIND_WALK_H
#define POWERCUT_STACKS_UNWIND_WALK_H

#include "stacks/cfi/expression.h"
#include "stacks/modules/maps.h"
#include "stacks/unwind/unwind.h"

struct unwind_walk {
    struct pc_rows *rows;
    const struct pc_maps *maps;
    struct pc_target_memory *memory;
    struct cfi_registers r;
    bool exact; /* the program counter is an interrupted instruction, not a return address */
};

/* `from`: see struct cfi_registers. */
static inline void unwind_set(struct cfi_registers *r, unsigned reg, uint64_t value, uint64_t from) {
    r->value[reg] = value;
    r->from[reg] = from;
    r->known |= 1u << reg;
}

bool unwind_by_sigreturn(struct unwind_walk *walk);
bool unwind_by_asmcgocall(struct unwind_walk *walk);
bool unwind_by_leaf(struct unwind_walk *walk);
bool unwind_by_frame_pointer(struct unwind_walk *walk);

#endif
