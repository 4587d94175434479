/* The part of DWARF expressions that call frame information uses.
 *
 * Before: registers of the frame as far as known, and memory of the stopped process. After: the top of the
 * stack, or false if the expression is malformed, too long or needs what is not known.
 */
#ifndef POWERCUT_STACKS_CFI_EXPRESSION_H
#define POWERCUT_STACKS_CFI_EXPRESSION_H

#include "stacks/cfi/cfi.h"
#include "stacks/unwind/memory.h"

struct cfi_registers {
    uint64_t value[CFI_REGISTERS]; /* value[CFI_RA] is the program counter */
    uint32_t known;                /* bit mask */
    /* Where in memory each value was read from; less than CFI_REGISTERS: nowhere, it is what that register
     * was at the start of the walk; CFI_DERIVED: it follows from others. */
    uint64_t from[CFI_REGISTERS];
};

#define CFI_DERIVED UINT64_MAX

/* Says that the value of a register makes a difference. */
static inline void cfi_depend(const struct pc_target_memory *memory, const struct cfi_registers *r,
                              unsigned reg) {
    uint64_t from = r->from[reg];
    if (!memory->reads || from == CFI_DERIVED || from == CFI_RSP || from == CFI_RA)
        return;
    if (from == CFI_RBP)
        memory->reads->uses_rbp = true;
    else if (from < CFI_REGISTERS)
        memory->reads->lost = true;
    else
        pc_reads_add(memory->reads, from, r->value[reg]);
}

/* `block` is the offset of the block in `frame`. `start` is pushed first if `push` is set (the CFA, for
 * rules). */
bool pc_cfi_evaluate(const struct cfi_section *frame, uint64_t block, const struct cfi_registers *registers,
                     struct pc_target_memory *memory, bool push, uint64_t start, uint64_t *result);

#endif
