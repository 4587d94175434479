/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a statement of a block. After: calls of what race mode wants to know of it: loads from mapped
 * memory, and where threads wait.
 *
 * Loads of variables, which are on a stack, in a thread's own memory or at an address that the code names,
 * are passed by: none of these lies in a mapped file, and they are the most.
 */
#include "emit.h"
#include "loads.h"
#include "order.h"
#include "race.h"
#include "schedule.h"
#include "sites.h"

#define NEAR 8 /* statements back in which an address is made, most often */

/* A load or store of a statement. */
struct access {
    IRExpr *address; /* NULL: none */
    IRExpr *guard;   /* NULL: always */
    UInt size;
};

static Bool is_own_base(const IRExpr *expression) {
    return expression->tag == Iex_Get &&
           expression->Iex.Get.offset == offsetof(VexGuestAMD64State, guest_RSP);
}

static const IRExpr *made(const IRSB *in, Int index, const IRExpr *expression) {
    for (Int i = index - 1; expression->tag == Iex_RdTmp && i >= 0 && i >= index - NEAR; i--) {
        const IRStmt *statement = in->stmts[i];
        if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.tmp == expression->Iex.RdTmp.tmp)
            return statement->Ist.WrTmp.data;
    }
    return NULL;
}

/* Whether an address is that of a variable. */
static Bool is_elsewhere(const IRSB *in, Int index, const IRExpr *address) {
    const IRExpr *sum = made(in, index, address);
    if (address->tag == Iex_Const)
        return True;
    if (sum == NULL || sum->tag != Iex_Binop)
        return sum != NULL && is_own_base(sum);
    if (sum->Iex.Binop.op != Iop_Add64 && sum->Iex.Binop.op != Iop_Sub64)
        return False;
    const IRExpr *base = made(in, index, sum->Iex.Binop.arg1);
    return base != NULL && is_own_base(base) && sum->Iex.Binop.arg2->tag == Iex_Const;
}

static IRExpr *guard_of(IRExpr *guard) {
    return guard->tag == Iex_Const ? NULL : guard;
}

/* What a statement loads after which its value is known. */
static struct access plain_load(const IRSB *in, Int index) {
    const IRStmt *statement = in->stmts[index];
    if (statement->tag == Ist_WrTmp && statement->Ist.WrTmp.data->tag == Iex_Load) {
        const IRExpr *data = statement->Ist.WrTmp.data;
        if (!is_elsewhere(in, index, data->Iex.Load.addr))
            return (struct access){data->Iex.Load.addr, NULL, (UInt)sizeofIRType(data->Iex.Load.ty)};
    }
    if (statement->tag == Ist_LoadG) {
        const IRLoadG *load = statement->Ist.LoadG.details;
        IRType result, type;
        typeOfIRLoadGOp(load->cvt, &result, &type);
        return (struct access){load->addr, guard_of(load->guard), (UInt)sizeofIRType(type)};
    }
    return (struct access){0};
}

/* What it loads and then stores, or gives to a helper. */
static struct access early_load(const IRSB *in, Int index) {
    const IRStmt *statement = in->stmts[index];
    if (statement->tag == Ist_CAS) {
        const IRCAS *cas = statement->Ist.CAS.details;
        UInt size = (UInt)sizeofIRType(typeOfIRTemp(in->tyenv, cas->oldLo));
        return (struct access){cas->addr, NULL, cas->dataHi != NULL ? 2 * size : size};
    }
    if (statement->tag == Ist_Dirty) {
        const IRDirty *dirty = statement->Ist.Dirty.details;
        if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify)
            return (struct access){dirty->mAddr, guard_of(dirty->guard), (UInt)dirty->mSize};
    }
    return (struct access){0};
}

static struct access store_of(const IRSB *in, Int index) {
    const IRStmt *statement = in->stmts[index];
    if (statement->tag == Ist_Store) {
        UInt size = (UInt)sizeofIRType(typeOfIRExpr(in->tyenv, statement->Ist.Store.data));
        return (struct access){statement->Ist.Store.addr, NULL, size};
    }
    if (statement->tag == Ist_StoreG) {
        const IRStoreG *store = statement->Ist.StoreG.details;
        return (struct access){store->addr, store->guard,
                               (UInt)sizeofIRType(typeOfIRExpr(in->tyenv, store->data))};
    }
    return statement->tag == Ist_CAS ? early_load(in, index) : (struct access){0};
}

static void emit_loaded(IRSB *out, Addr pc, const struct access *access, Bool swaps) {
    IRExpr *guard = both(out, may_be_mapped(out, access->address), access->guard);
    IRExpr **arguments = mkIRExprVec_3(address_of(pc_site_at(pc)), access->address, word(access->size));
    if (swaps)
        call(out, "pc_swap_seen", pc_swap_seen, arguments, guard);
    else
        call(out, "pc_load_seen", pc_load_seen, arguments, guard);
}

/* Where a plan lets threads wait: at the points that the instruction belongs to, or anywhere. */
static void emit_schedule(IRSB *out, Addr pc, const struct access *access, Bool stores, Bool before) {
    Bool trusted, system;
    struct pc_board_site name = pc_site_name(pc, &trusted, &system);
    pc_site site = PC_SITE(pc, access->size, stores ? PC_MEMORY_STORE : PC_MEMORY_LOAD, 0);
    ULong points = before == stores ? 0 : pc_schedule_points(&name, stores);
    Bool delayed = before && !trusted && pc_board->plan.mode == PC_BOARD_DELAY;
    if (points == 0 && !delayed)
        return;
    IRExpr *guard = both(out, may_be_mapped(out, access->address), access->guard);
    if (delayed)
        call(out, "pc_schedule_delay", pc_schedule_delay, mkIRExprVec_2(word(site), access->address), guard);
    else if (stores)
        call(out, "pc_schedule_after_store", pc_schedule_after_store,
             mkIRExprVec_3(word(site), access->address, word(points)), guard);
    else
        call(out, "pc_schedule_before_load", pc_schedule_before_load,
             mkIRExprVec_3(word(site), access->address, word(points)), guard);
}

static Bool is_trusted(Addr pc) {
    Bool trusted, system;
    pc_site_name(pc, &trusted, &system);
    return trusted;
}

void pc_race_emit_start(IRSB *out, Addr pc) {
    if (!pc_race)
        return;
    pc_block_seen(pc);
    if (pc_order_is_entry(pc))
        pc_order_emit_entry(out, pc);
}

void pc_race_emit_return(IRSB *out, Addr pc) {
    if (pc_race)
        pc_order_emit_return(out, pc);
}

/* Whether the instruction at hand has loaded already: xchg and its kin load and then swap. */
static Bool has_loaded(const IRSB *in, Int index) {
    for (Int i = index - 1; i >= 0 && in->stmts[i]->tag != Ist_IMark; i--)
        if (plain_load(in, i).address != NULL)
            return True;
    return False;
}

void pc_race_emit_before(const IRSB *in, Int index, IRSB *out, Addr pc) {
    if (!pc_race)
        return;
    struct access load = plain_load(in, index), early = early_load(in, index), store = store_of(in, index);
    /* Between a load and its swap nobody may wait: the swap would fail, and all begin anew. */
    Bool begun = early.address != NULL && has_loaded(in, index);
    if (load.address != NULL || (early.address != NULL && !begun))
        emit_schedule(out, pc, load.address != NULL ? &load : &early, False, True);
    else if (store.address != NULL && !begun)
        emit_schedule(out, pc, &store, True, True);
    if (early.address != NULL && !begun && !is_trusted(pc))
        emit_loaded(out, pc, &early, in->stmts[index]->tag == Ist_CAS);
}

void pc_race_emit_loaded(const IRSB *in, Int index, IRSB *out, Addr pc, Bool locked) {
    if (!pc_race)
        return;
    struct access load = plain_load(in, index);
    if (load.address != NULL && !is_trusted(pc))
        emit_loaded(out, pc, &load, locked);
}

void pc_race_emit_after(const IRSB *in, Int index, IRSB *out, Addr pc) {
    if (!pc_race)
        return;
    struct access store = store_of(in, index);
    if (store.address != NULL)
        emit_schedule(out, pc, &store, True, False);
}
