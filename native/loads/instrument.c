/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a block of flat intermediate code. After: the same, with calls of the helpers in loaded.h before
 * whatever reads memory and behind whatever only writes it.
 *
 * What both reads and writes (locked operations, functions of Valgrind's own) counts as a read. */
#include "instrument.h"

#include "cpuid.h"
#include "decode.h"
#include "emit.h"
#include "loaded.h"

static void on_access(IRSB *out, Bool stores, IRExpr *address, UInt size, IRExpr *condition) {
    IRExpr *guard = both(out, may_be_mapped(out, address), condition);
    IRExpr **arguments = mkIRExprVec_2(address, word(size));
    if (stores)
        call(out, "pc_on_store", pc_on_store, arguments, guard);
    else
        call(out, "pc_on_load", pc_on_load, arguments, guard);
}

static void on_dirty(IRSB *out, IRStmt *statement) {
    const IRDirty *dirty = statement->Ist.Dirty.details;
    if (pc_is_cpuid(dirty)) {
        pc_instrument_cpuid(out, statement);
        return;
    }
    if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify)
        on_access(out, False, dirty->mAddr, (UInt)dirty->mSize, NULL);
    addStmtToIRSB(out, statement);
}

static void on_statement(IRSB *out, IRStmt *statement) {
    const IRTypeEnv *types = out->tyenv;
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *data = statement->Ist.WrTmp.data;
        if (data->tag == Iex_Load)
            on_access(out, False, data->Iex.Load.addr, (UInt)sizeofIRType(data->Iex.Load.ty), NULL);
        addStmtToIRSB(out, statement);
        break;
    }
    case Ist_LoadG: {
        const IRLoadG *load = statement->Ist.LoadG.details;
        IRType to, from;
        typeOfIRLoadGOp(load->cvt, &to, &from);
        on_access(out, False, load->addr, (UInt)sizeofIRType(from), load->guard);
        addStmtToIRSB(out, statement);
        break;
    }
    case Ist_CAS: {
        const IRCAS *cas = statement->Ist.CAS.details;
        UInt size = (UInt)sizeofIRType(typeOfIRTemp(types, cas->oldLo)) * (cas->dataHi != NULL ? 2 : 1);
        on_access(out, False, cas->addr, size, NULL);
        addStmtToIRSB(out, statement);
        break;
    }
    case Ist_Store: {
        IRType type = typeOfIRExpr(types, statement->Ist.Store.data);
        addStmtToIRSB(out, statement);
        on_access(out, True, statement->Ist.Store.addr, (UInt)sizeofIRType(type), NULL);
        break;
    }
    case Ist_Dirty:
        on_dirty(out, statement);
        break;
    default: /* a store under a condition is not counted on */
        addStmtToIRSB(out, statement);
        break;
    }
}

/* Valgrind takes a flush for a change of code (clflush), or does not know it: the block goes on behind it. */
static void skip_flush(const IRSB *in, IRSB *out) {
    struct pc_instruction instruction = {0};
    Addr pc = 0;
    for (Int i = 0; i < in->stmts_used; i++)
        if (in->stmts[i]->tag == Ist_IMark)
            pc = in->stmts[i]->Ist.IMark.addr;
    pc_decode((const UChar *)pc, &instruction);
    if (instruction.flush != 0) {
        out->next = word(pc + instruction.length);
        out->jumpkind = Ijk_Boring;
    }
}

IRSB *pc_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                    const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                    IRType host_word) {
    IRSB *out = deepCopyIRSBExceptStmts(in);
    for (Int i = 0; i < in->stmts_used; i++)
        on_statement(out, in->stmts[i]);
    if (in->jumpkind == Ijk_InvalICache || in->jumpkind == Ijk_NoDecode)
        skip_flush(in, out);
    return out;
}
