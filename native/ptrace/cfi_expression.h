/* The part of DWARF expressions that call frame information uses.
 *
 * Before: registers of the frame as far as known, and memory of the stopped process. After: the top of the
 * stack, or false if the expression is malformed, too long or needs what is not known.
 */
#ifndef POWERCUT_CFI_EXPRESSION_H
#define POWERCUT_CFI_EXPRESSION_H

#include "cfi.h"
#include "unwind_memory.h"

struct cfi_registers {
    uint64_t value[CFI_REGISTERS]; /* value[CFI_RA] is the program counter */
    uint32_t known;                /* bit mask */
};

/* `block` is the offset of the block in `frame`. `start` is pushed first if `push` is set (the CFA, for
 * rules). */
bool pc_cfi_evaluate(const struct cfi_section *frame, uint64_t block, const struct cfi_registers *registers,
                     struct pc_target_memory *memory, bool push, uint64_t start, uint64_t *result);

#endif
