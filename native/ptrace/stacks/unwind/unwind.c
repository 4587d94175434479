/* The walk over native frames: see stacks/unwind/unwind.h.
 *
 * A frame is stepped over by call frame information where there is some; else, in this order, by recognising
 * the kernel's signal frame (C libraries without information for the signal trampoline), Go's change of
 * stacks around C code, and by the frame pointer.
 */
#include "stacks/unwind/unwind.h"
#include "stacks/unwind/rows.h"
#include "stacks/unwind/walk.h"

static void take_registers(struct cfi_registers *r, const struct user_regs_struct *regs) {
    const uint64_t values[CFI_REGISTERS] = {regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
                                            regs->rbp, regs->rsp, regs->r8,  regs->r9,  regs->r10, regs->r11,
                                            regs->r12, regs->r13, regs->r14, regs->r15, regs->rip};
    memcpy(r->value, values, sizeof values);
    r->known = (1u << CFI_REGISTERS) - 1;
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        r->from[i] = i;
}

static bool find_cfa(const struct unwind_walk *w, const struct cfi_section *frame, const struct cfi_row *row,
                     uint64_t *cfa) {
    if (row->cfa_expression)
        return pc_cfi_evaluate(frame, (uint64_t)row->cfa_value, &w->r, w->memory, false, 0, cfa);
    cfi_depend(w->memory, &w->r, row->cfa_reg);
    *cfa = w->r.value[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_value;
    return w->r.known >> row->cfa_reg & 1;
}

/* Applies one rule: reads from the old registers, writes to *next. */
static void apply(const struct unwind_walk *w, const struct cfi_section *frame, const struct cfi_rule *rule,
                  uint64_t cfa, struct cfi_registers *next) {
    uint64_t value = 0, from = CFI_DERIVED;
    bool known = false;
    switch (rule->kind) {
    case CFI_OFFSET:
        from = cfa + (uint64_t)(int64_t)rule->value;
        known = pc_memory_u64(w->memory, from, &value);
        break;
    case CFI_VAL_OFFSET:
        value = cfa + (uint64_t)(int64_t)rule->value;
        known = true;
        break;
    case CFI_REGISTER:
        known = rule->value >= 0 && rule->value < CFI_REGISTERS && (w->r.known >> rule->value & 1);
        value = known ? w->r.value[rule->value] : 0;
        from = known ? w->r.from[rule->value] : CFI_DERIVED;
        break;
    case CFI_EXPRESSION:
        known = pc_cfi_evaluate(frame, (uint64_t)rule->value, &w->r, w->memory, true, cfa, &from) &&
                pc_memory_u64(w->memory, from, &value);
        break;
    case CFI_VAL_EXPRESSION:
        known = pc_cfi_evaluate(frame, (uint64_t)rule->value, &w->r, w->memory, true, cfa, &value);
        break;
    }
    next->known &= ~(1u << rule->reg);
    if (known)
        unwind_set(next, rule->reg, value, from);
}

static bool step_by_row(struct unwind_walk *w, const struct pc_module *module, const struct cfi_row *row) {
    const struct cfi_section *frame = &module->cfi.frame;
    uint64_t cfa, before = w->r.value[CFI_RSP];
    if (!find_cfa(w, frame, row, &cfa))
        return false;
    struct cfi_registers next = w->r;
    next.known &= ~(1u << CFI_RA); /* a caller is only there if a rule gives it */
    unwind_set(&next, CFI_RSP, cfa, CFI_DERIVED);
    for (unsigned i = 0; i < row->count; i++)
        apply(w, frame, &row->rules[i], cfa, &next);
    w->r = next;
    w->exact = row->signal;
    if (next.known >> CFI_RA & 1)
        cfi_depend(w->memory, &next, CFI_RA);
    if (row->signal)
        cfi_depend(w->memory, &next, CFI_RSP); /* restored, not found */
    /* A signal handler may run on a stack of its own, so only ordinary frames must lie above their callees.
     */
    return (next.known >> CFI_RA & 1) && (next.known >> CFI_RSP & 1) && (row->signal || cfa > before);
}

static bool step(struct unwind_walk *w, const struct pc_native_frame *frame, bool innermost) {
    if (frame->mapping->module) {
        uint64_t address = frame->address - frame->mapping->bias;
        const struct pc_cached_row *row = pc_rows_get(w->rows, frame->mapping->module, address);
        if (row && row->valid)
            return step_by_row(w, frame->mapping->module, &row->row);
    }
    return unwind_by_sigreturn(w) || (innermost && unwind_by_leaf(w)) || unwind_by_asmcgocall(w) ||
           unwind_by_frame_pointer(w);
}

void pc_unwind(struct pc_rows *rows, const struct pc_maps *maps, struct pc_target_memory *memory,
               const struct user_regs_struct *regs, struct pc_unwound *out) {
    struct unwind_walk w = {.rows = rows, .maps = maps, .memory = memory};
    out->count = 0;
    out->lost = false;
    take_registers(&w.r, regs);
    while (out->count < PC_UNWIND_DEPTH) {
        struct pc_native_frame *frame = &out->frames[out->count];
        uint64_t pc = w.r.value[CFI_RA];
        frame->address = w.exact ? pc : pc - 1; /* stay inside the function that called */
        frame->mapping = pc_maps_find(maps, frame->address);
        if (!frame->mapping) {
            out->lost = pc > 4096; /* a few programs end their stack with a small number */
            break;
        }
        out->count++;
        if (!step(&w, frame, out->count == 1))
            break;
    }
    out->top = w.r.value[CFI_RSP];
}
