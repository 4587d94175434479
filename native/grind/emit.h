/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small words for writing intermediate code. */
#ifndef POWERCUT_GRIND_EMIT_H
#define POWERCUT_GRIND_EMIT_H

#include "core.h"
#include "ranges.h"

static inline IRExpr *word(ULong value) {
    return IRExpr_Const(IRConst_U64(value));
}

static inline IRExpr *address_of(const void *global) {
    return word((ULong)(Addr)global);
}

/* A temporary with the value of an expression. */
static inline IRExpr *keep(IRSB *block, IRExpr *value) {
    IRTemp temp = newIRTemp(block->tyenv, typeOfIRExpr(block->tyenv, value));
    addStmtToIRSB(block, IRStmt_WrTmp(temp, value));
    return IRExpr_RdTmp(temp);
}

static inline IRExpr *unary(IRSB *block, IROp op, IRExpr *a) {
    return keep(block, IRExpr_Unop(op, a));
}

static inline IRExpr *binary(IRSB *block, IROp op, IRExpr *a, IRExpr *b) {
    return keep(block, IRExpr_Binop(op, a, b));
}

static inline IRExpr *load(IRSB *block, IRType type, IRExpr *address) {
    return keep(block, IRExpr_Load(Iend_LE, type, address));
}

/* Both conditions; NULL stands for one that always holds. */
static inline IRExpr *both(IRSB *block, IRExpr *a, IRExpr *b) {
    return a == NULL ? b : b == NULL ? a : binary(block, Iop_And1, a, b);
}

static inline IRExpr *found_equal(IRSB *block, IRTemp old, IRExpr *expected) {
    IRType type = typeOfIRTemp(block->tyenv, old);
    IROp op = type == Ity_I8    ? Iop_CasCmpEQ8
              : type == Ity_I16 ? Iop_CasCmpEQ16
              : type == Ity_I32 ? Iop_CasCmpEQ32
                                : Iop_CasCmpEQ64;
    return binary(block, op, IRExpr_RdTmp(old), expected);
}

/* Whether the compare and swap before it took effect. */
static inline IRExpr *swapped(IRSB *block, const IRCAS *cas) {
    IRExpr *low = found_equal(block, cas->oldLo, cas->expdLo);
    return cas->dataHi == NULL ? low : both(block, low, found_equal(block, cas->oldHi, cas->expdHi));
}

/* What the filter (ranges.h) has for an address. */
static inline IRExpr *mapped_entry(IRSB *block, IRExpr *address) {
    IRExpr *region = binary(block, Iop_Shr64, address, IRExpr_Const(IRConst_U8(PC_FILTER_SHIFT)));
    IRExpr *index = binary(block, Iop_And64, region, word(PC_FILTER_MASK));
    IRExpr *at = binary(block, Iop_Add64, index, address_of(pc_filter));
    return load(block, Ity_I8, at);
}

/* Whether a range may be at the address. */
static inline IRExpr *may_be_mapped(IRSB *block, IRExpr *address) {
    return unary(block, Iop_CmpNEZ8, mapped_entry(block, address));
}

/* A call of a helper without a result, made if the guard holds (NULL: always). */
static inline IRDirty *call(IRSB *block, const HChar *name, void *helper, IRExpr **arguments, IRExpr *guard) {
    IRDirty *dirty = unsafeIRDirty_0_N(0, name, VG_(fnptr_to_fnentry)(helper), arguments);
    if (guard != NULL)
        dirty->guard = guard;
    addStmtToIRSB(block, IRStmt_Dirty(dirty));
    return dirty;
}

/* A call of a helper that gets the thread's registers and a number, and has this effect on the general ones.
 */
static inline void call_with_state(IRSB *block, const HChar *name, void *helper, ULong number,
                                   IREffect effect) {
    IRExpr **arguments = mkIRExprVec_2(IRExpr_GSPTR(), word(number));
    IRDirty *dirty = unsafeIRDirty_0_N(0, name, VG_(fnptr_to_fnentry)(helper), arguments);
    dirty->nFxState = 1;
    VG_(memset)(&dirty->fxState, 0, sizeof(dirty->fxState));
    dirty->fxState[0].fx = effect;
    dirty->fxState[0].offset = offsetof(VexGuestAMD64State, guest_RAX);
    dirty->fxState[0].size = 4 * sizeof(ULong); /* rax, rcx, rdx, rbx: what cpuid gives */
    addStmtToIRSB(block, IRStmt_Dirty(dirty));
}

#endif
