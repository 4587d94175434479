/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a block of flat intermediate code, made of one or more instructions. After: the same code, with
 * calls of the helpers in records.h behind whatever stores, flushes or fences.
 *
 * Helpers are called after the store and read what is there: no other thread runs in between. They are only
 * called if the filter (ranges.h) says that a range may be touched, which costs a shift, a load and a test.
 */
#include "instrument.h"

#include "access_filter.h"
#include "assertions.h"
#include "cpuid.h"
#include "decode.h"
#include "emit.h"
#include "fast_path.h"
#include "masks.h"
#include "race/race.h"
#include "ranges.h"
#include "records.h"
#include "successor.h"
#include "taint/faults.h"
#include "taint/taint.h"
#include "threads.h"
#include "unknown.h"
#include "untainted.h"
#include "versions.h"

/* Where the pass is. */
struct pass {
    const IRSB *in;
    IRSB *out;
    Addr pc; /* of the instruction at hand */
    UInt length;
    struct pc_instruction instruction;
    Bool parted; /* it has several stores */
    struct pc_taint_pass *taint;
    Bool idle, fast_path, untainted; /* see versions.h */
};

static IRExpr *not_zero(struct pass *p, const UInt *global) {
    return unary(p->out, Iop_CmpNEZ32, load(p->out, Ity_I32, address_of(global)));
}

static UInt plain_kind(const struct pass *p) {
    return p->instruction.nontemporal ? PC_MEMORY_STORE_NONTEMPORAL : PC_MEMORY_STORE;
}

static void after_store(struct pass *p, UInt kind, IRExpr *address, UInt size, IRExpr *condition) {
    pc_site site = PC_SITE(p->pc, size, kind, p->parted);
    if (p->untainted) {
        pc_untainted_stored(p->taint, site, address, condition);
        return;
    }
    IRExpr *guard = both(p->out, pc_access_filter_mapped(p->out, address), condition);
    call(p->out, "pc_on_store", pc_on_store, mkIRExprVec_2(word(site), address), guard);
}

/* Calls the helper for a store of which only some bytes count; False: all of them do. */
static Bool after_masked_store(struct pass *p, IRExpr *address, const IRExpr *data, IRType type) {
    IRExpr *low, *high;
    if (!p->instruction.nontemporal || (type != Ity_V128 && type != Ity_I64))
        return False;
    Bool wide = type == Ity_V128;
    IRExpr *mask = pc_mask_of(p->in, data, wide);
    if (mask == NULL)
        return False;
    low = wide ? unary(p->out, Iop_V128to64, mask) : mask;
    high = wide ? unary(p->out, Iop_V128HIto64, mask) : word(0);
    pc_site site = PC_SITE(p->pc, sizeofIRType(type), PC_MEMORY_STORE_NONTEMPORAL, p->parted);
    call(p->out, "pc_on_masked_store", pc_on_masked_store, mkIRExprVec_4(word(site), address, low, high),
         pc_access_filter_mapped(p->out, address));
    return True;
}

static void on_store(struct pass *p, IRStmt *statement) {
    IRExpr *address = statement->Ist.Store.addr, *data = statement->Ist.Store.data;
    IRType type = typeOfIRExpr(p->in->tyenv, data);
    addStmtToIRSB(p->out, statement);
    if (!after_masked_store(p, address, data, type))
        after_store(p, plain_kind(p), address, (UInt)sizeofIRType(type), NULL);
}

static void on_guarded_store(struct pass *p, IRStmt *statement) {
    const IRStoreG *store = statement->Ist.StoreG.details;
    UInt size = (UInt)sizeofIRType(typeOfIRExpr(p->in->tyenv, store->data));
    addStmtToIRSB(p->out, statement);
    after_store(p, plain_kind(p), store->addr, size, store->guard);
}

/* Compare and swap: a store only if it took effect. */
static void on_cas(struct pass *p, IRStmt *statement) {
    const IRCAS *cas = statement->Ist.CAS.details;
    Bool twice = cas->dataHi != NULL, locked = p->instruction.locked;
    UInt size = (UInt)sizeofIRType(typeOfIRTemp(p->in->tyenv, cas->oldLo)) * (twice ? 2 : 1);
    addStmtToIRSB(p->out, statement);
    UInt kind = locked ? PC_MEMORY_STORE_LOCKED : plain_kind(p);
    after_store(p, kind, cas->addr, size, swapped(p->out, cas));
}

static Bool writes_memory(const IRDirty *dirty) {
    return dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify;
}

/* Instructions that Valgrind does by calling a function: some of them store (x87, fxsave). */
static void on_dirty(struct pass *p, IRStmt *statement) {
    IRDirty *dirty = statement->Ist.Dirty.details;
    if (pc_is_cpuid(dirty)) {
        pc_instrument_cpuid(p->out, statement);
        return;
    }
    addStmtToIRSB(p->out, statement);
    if (!writes_memory(dirty))
        return;
    Bool always = dirty->guard->tag == Iex_Const;
    after_store(p, plain_kind(p), dirty->mAddr, (UInt)dirty->mSize, always ? NULL : dirty->guard);
}

/* There is nothing yet that a statement could do something to. */
static void on_idle(struct pass *p, IRStmt *statement) {
    if (statement->tag == Ist_Dirty && pc_is_cpuid(statement->Ist.Dirty.details))
        pc_instrument_cpuid(p->out, statement);
    else
        addStmtToIRSB(p->out, statement);
}

static void on_fence(struct pass *p) {
    if (p->instruction.fence == 0)
        return;
    pc_site site = PC_SITE(p->pc, p->instruction.fence, PC_MEMORY_FENCE, 0);
    call(p->out, "pc_on_fence", pc_on_fence, mkIRExprVec_1(word(site)), not_zero(p, &pc_range_count));
}

static IRExpr *general_register(struct pass *p, Int number) {
    Int offset = (Int)offsetof(VexGuestAMD64State, guest_RAX) + 8 * number;
    return keep(p->out, IRExpr_Get(offset, Ity_I64));
}

/* The address of a memory operand. Only right where all registers are in the guest state: at the end of a
 * block. */
static IRExpr *effective_address(struct pass *p) {
    const struct pc_operand *o = &p->instruction.operand;
    ULong constant = (ULong)o->displacement + (o->relative ? p->pc + p->instruction.length : 0);
    IRExpr *sum = keep(p->out, word(constant));
    if (o->base >= 0)
        sum = binary(p->out, Iop_Add64, sum, general_register(p, o->base));
    if (o->index >= 0) {
        IRExpr *shift = IRExpr_Const(IRConst_U8((UChar)o->scale));
        sum = binary(p->out, Iop_Add64, sum, binary(p->out, Iop_Shl64, general_register(p, o->index), shift));
    }
    if (o->truncated)
        sum = binary(p->out, Iop_And64, sum, word(0xffffffff));
    if (o->segment != 0) {
        Int offset = o->segment == 'f' ? (Int)offsetof(VexGuestAMD64State, guest_FS_CONST)
                                       : (Int)offsetof(VexGuestAMD64State, guest_GS_CONST);
        sum = binary(p->out, Iop_Add64, sum, keep(p->out, IRExpr_Get(offset, Ity_I64)));
    }
    return sum;
}

/* Valgrind ends the block at a flush: it either takes it for a change of code (clflush) or does not know it.
 * After: the block ends with a record of it and goes on behind it. */
static void end_with_flush(struct pass *p) {
    IRExpr *address = effective_address(p);
    pc_site site = PC_SITE(p->pc, p->instruction.flush, PC_MEMORY_FLUSH, 0);
    call(p->out, "pc_on_flush", pc_on_flush, mkIRExprVec_2(word(site), address),
         not_zero(p, &pc_range_count));
    p->out->next = word(p->pc + p->instruction.length);
    p->out->jumpkind = Ijk_Boring;
}

static Bool is_store(const IRStmt *statement) {
    return statement->tag == Ist_Store || statement->tag == Ist_StoreG || statement->tag == Ist_CAS ||
           (statement->tag == Ist_Dirty && writes_memory(statement->Ist.Dirty.details));
}

/* A locked operation is a fence in any case, before whatever it does. */
static void on_locked(struct pass *p) {
    pc_site site = PC_SITE(p->pc, PC_FENCE_LOCKED, PC_MEMORY_FENCE, 0);
    call(p->out, "pc_on_fence", pc_on_fence, mkIRExprVec_1(word(site)), not_zero(p, &pc_pending));
}

/* At the mark of an instruction. */
static void on_mark(struct pass *p, Int index) {
    const IRStmt *mark = p->in->stmts[index];
    UInt stores = 0, swaps = 0;
    p->pc = mark->Ist.IMark.addr;
    p->length = mark->Ist.IMark.len;
    pc_decode((const UChar *)p->pc, &p->instruction);
    if (p->idle || p->fast_path)
        return;
    for (Int i = index + 1; i < p->in->stmts_used && p->in->stmts[i]->tag != Ist_IMark; i++) {
        stores += is_store(p->in->stmts[i]);
        swaps += p->in->stmts[i]->tag == Ist_CAS;
    }
    if (swaps > 0 && p->instruction.locked)
        on_locked(p);
    p->parted = stores > 1;
    if (p->parted)
        addStmtToIRSB(p->out, IRStmt_Store(Iend_LE, address_of(&pc_parts), IRExpr_Const(IRConst_U32(0))));
}

/* The statement, and what records it. */
static void emit_statement(struct pass *p, Int index) {
    IRStmt *statement = p->in->stmts[index];
    switch (statement->tag) {
    case Ist_IMark:
        addStmtToIRSB(p->out, statement);
        on_mark(p, index);
        break;
    case Ist_Store:
        on_store(p, statement);
        break;
    case Ist_StoreG:
        on_guarded_store(p, statement);
        break;
    case Ist_CAS:
        on_cas(p, statement);
        break;
    case Ist_Dirty:
        on_dirty(p, statement);
        break;
    case Ist_MBE:
        addStmtToIRSB(p->out, statement);
        if (statement->Ist.MBE.event == Imbe_Fence)
            on_fence(p);
        break;
    default:
        addStmtToIRSB(p->out, statement);
        break;
    }
}

/* The statement, and what everybody else wants of it. */
static void on_looked_at(struct pass *p, Int index) {
    IRStmt *statement = p->in->stmts[index];
    if (!p->untainted) {
        pc_race_emit_uses(p->in, index, p->out, p->pc);
        pc_taint_before(p->taint, statement, p->pc);
    } else {
        pc_untainted_before(p->taint, index, p->pc, p->instruction.locked);
    }
    emit_statement(p, index);
    if (!p->untainted) {
        pc_race_emit_loaded(p->in, index, p->out, p->pc, p->instruction.locked);
        pc_taint_after(p->taint, statement, p->pc);
    }
}

/* Whether it is the version that does everything. */
static Bool is_whole(const struct pass *p) {
    return !p->idle && !p->fast_path && !p->untainted;
}

static void on_statement(struct pass *p, Int index) {
    pc_faults_place(p->out, p->in->stmts[index], p->pc);
    if (p->in->stmts[index]->tag == Ist_IMark) {
        if (is_whole(p))
            pc_taint_before(p->taint, p->in->stmts[index], p->pc);
        emit_statement(p, index);
    } else if (p->idle) {
        on_idle(p, p->in->stmts[index]);
    } else if (p->fast_path) {
        pc_fast_path_before(p->in, index, p->out, p->pc);
        addStmtToIRSB(p->out, p->in->stmts[index]);
    } else {
        pc_race_emit_before(p->in, index, p->out, p->pc);
        on_looked_at(p, index);
        pc_race_emit_after(p->in, index, p->out, p->pc);
    }
}

IRSB *pc_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                    const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                    IRType host_word) {
    struct pass p = {.in = in, .out = deepCopyIRSBExceptStmts(in)};
    Int i = 0;
    pc_access_filter_begin(in);
    p.taint = pc_taint_begin(in, p.out, layout);
    p.idle = pc_versions_idle();
    p.fast_path = !p.idle && pc_versions_fast_path() && pc_fast_path_can_be(in);
    p.untainted = !p.idle && !p.fast_path && pc_versions_untainted() && pc_untainted_can_be(in);
    for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; i++)
        addStmtToIRSB(p.out, in->stmts[i]); /* Valgrind's own */
    if (!p.idle)
        pc_versions_start(p.taint, extents->base[0], p.fast_path || p.untainted);
    if (pc_versions_first())
        pc_race_block(extents->base[0]);
    pc_race_emit_start(p.out, extents->base[0]);
    if (!pc_thread_known)
        call_with_state(p.out, "pc_thread_found", pc_thread_found, 0, Ifx_Read);
    for (; i < in->stmts_used; i++)
        on_statement(&p, i);
    if (is_whole(&p))
        pc_taint_end(p.taint);
    if (p.instruction.flush != 0 && (in->jumpkind == Ijk_InvalICache || in->jumpkind == Ijk_NoDecode))
        end_with_flush(&p);
    else if (in->jumpkind == Ijk_NoDecode && !p.instruction.undefined)
        pc_instrument_unknown(p.out, p.pc);
    else if (in->jumpkind == Ijk_ClientReq)
        pc_instrument_request(p.out, p.pc);
    else if (in->jumpkind == Ijk_Ret)
        pc_race_emit_return(p.out, p.pc);
    pc_successor(in, p.out, closure->tid);
    return p.out;
}
