/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: what a statement stores. After: the mask, if Valgrind has made (data & mask) | (old & ~mask) of a
 * store with a mask (maskmovdqu, maskmovq).
 */
#include "masks.h"

/* The definition of a temporary in the incoming block, NULL if it is none. */
static const IRExpr *definition(const IRSB *in, const IRExpr *expression) {
    if (expression->tag != Iex_RdTmp)
        return NULL;
    for (Int i = 0; i < in->stmts_used; i++) {
        const IRStmt *statement = in->stmts[i];
        if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.tmp == expression->Iex.RdTmp.tmp)
            return statement->Ist.WrTmp.data;
    }
    return NULL;
}

static const IRExpr *operand_of(const IRSB *in, const IRExpr *expression, IROp op, UInt which) {
    const IRExpr *found = definition(in, expression);
    if (found != NULL && found->tag == Iex_Binop && found->Iex.Binop.op == op)
        return which == 0 ? found->Iex.Binop.arg1 : found->Iex.Binop.arg2;
    if (found != NULL && found->tag == Iex_Unop && found->Iex.Unop.op == op)
        return found->Iex.Unop.arg;
    return NULL;
}

/* The mask of (data & mask) | (old & ~mask); NULL: it is something else. */
static IRExpr *mask_in(const IRSB *in, const IRExpr *data, IROp or, IROp and, IROp not) {
    for (UInt side = 0; side < 2; side++) {
        const IRExpr *chosen = operand_of(in, data, or, side);
        const IRExpr *rest = operand_of(in, data, or, 1 - side);
        for (UInt i = 0; chosen != NULL && rest != NULL && i < 4; i++) {
            const IRExpr *mask = operand_of(in, chosen, and, i & 1);
            const IRExpr *inverted = operand_of(in, rest, and, i >> 1);
            const IRExpr *original = inverted != NULL ? operand_of(in, inverted, not, 0) : NULL;
            if (mask != NULL && original != NULL && eqIRAtom(mask, original))
                return deepCopyIRExpr(mask);
        }
    }
    return NULL;
}

IRExpr *pc_mask_of(const IRSB *in, const IRExpr *data, Bool wide) {
    return wide ? mask_in(in, data, Iop_OrV128, Iop_AndV128, Iop_NotV128)
                : mask_in(in, data, Iop_Or64, Iop_And64, Iop_Not64);
}
