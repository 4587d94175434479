/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a statement of a block of flat code. After: the memory that it loads or stores, if it does. */
#include "statements.h"

#define LEAVE 0xc9 /* the instruction, which sets rsp to rbp and then loads: it can do that again */

static IRExpr *guard_of(IRExpr *guard) {
    return guard->tag == Iex_Const ? NULL : guard;
}

struct pc_operand_bytes pc_loaded_by(const IRSB *in, Int index) {
    const IRStmt *statement = in->stmts[index];
    if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.data->tag == Iex_Load) {
        const IRExpr *data = statement->Ist.WrTmp.data;
        return (struct pc_operand_bytes){data->Iex.Load.addr, NULL, (UInt)sizeofIRType(data->Iex.Load.ty)};
    }
    if (statement->tag == Ist_LoadG) {
        const IRLoadG *load = statement->Ist.LoadG.details;
        IRType result, type;
        typeOfIRLoadGOp(load->cvt, &result, &type);
        return (struct pc_operand_bytes){load->addr, guard_of(load->guard), (UInt)sizeofIRType(type)};
    }
    return (struct pc_operand_bytes){0};
}

struct pc_operand_bytes pc_used_by(const IRSB *in, Int index) {
    const IRStmt *statement = in->stmts[index];
    if (statement->tag == Ist_CAS) {
        const IRCAS *cas = statement->Ist.CAS.details;
        UInt size = (UInt)sizeofIRType(typeOfIRTemp(in->tyenv, cas->oldLo));
        return (struct pc_operand_bytes){cas->addr, NULL, cas->dataHi != NULL ? 2 * size : size};
    }
    if (statement->tag == Ist_Dirty) {
        const IRDirty *dirty = statement->Ist.Dirty.details;
        if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify)
            return (struct pc_operand_bytes){dirty->mAddr, guard_of(dirty->guard), (UInt)dirty->mSize};
    }
    return (struct pc_operand_bytes){0};
}

struct pc_operand_bytes pc_stored_by(const IRSB *in, Int index) {
    const IRStmt *statement = in->stmts[index];
    if (statement->tag == Ist_Store) {
        UInt size = (UInt)sizeofIRType(typeOfIRExpr(in->tyenv, statement->Ist.Store.data));
        return (struct pc_operand_bytes){statement->Ist.Store.addr, NULL, size};
    }
    if (statement->tag == Ist_StoreG) {
        const IRStoreG *store = statement->Ist.StoreG.details;
        return (struct pc_operand_bytes){store->addr, store->guard,
                                         (UInt)sizeofIRType(typeOfIRExpr(in->tyenv, store->data))};
    }
    return statement->tag == Ist_CAS ? pc_used_by(in, index) : (struct pc_operand_bytes){0};
}

Bool pc_statement_acts(const IRSB *in, Int index, Addr pc) {
    const IRStmt *statement = in->stmts[index];
    switch (statement->tag) {
    case Ist_Put:
        return statement->Ist.Put.offset != offsetof(VexGuestAMD64State, guest_RIP) &&
               *(const UChar *)pc != LEAVE;
    case Ist_WrTmp:
    case Ist_LoadG:
    case Ist_NoOp:
    case Ist_AbiHint:
    case Ist_Exit:
        return False;
    default:
        return True;
    }
}
