/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a statement of a block. After: calls of what race mode wants to know of it: loads from mapped
 * memory, and where threads wait.
 *
 * Loads of variables, which are on a stack, in a thread's own memory or at an address that the code names,
 * are passed by: none of these lies in a mapped file, and they are the most.
 */
#include "access_filter.h"
#include "emit.h"
#include "loads.h"
#include "order.h"
#include "race.h"
#include "schedule.h"
#include "sites.h"
#include "statements.h"
#include "turns.h"

#define NEAR 8 /* statements back in which an address is made, most often */

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

/* What a statement loads, if it may be of a mapped file: after which its value is known. */
static struct pc_operand_bytes plain_load(const IRSB *in, Int index) {
    struct pc_operand_bytes load = pc_loaded_by(in, index);
    Bool variable =
        in->stmts[index]->tag == Ist_WrTmp && load.address != NULL && is_elsewhere(in, index, load.address);
    return variable ? (struct pc_operand_bytes){0} : load;
}

/* Whether a plan lets threads wait there: at these points, or (no point) anywhere. */
static Bool waits_at(Addr pc, Bool stores, Bool before, ULong *points) {
    Bool trusted, system;
    struct pc_board_site name = pc_site_name(pc, &trusted, &system);
    *points = before == stores ? 0 : pc_schedule_points(&name, stores);
    return *points != 0 || (before && !trusted && pc_board->plan.mode == PC_BOARD_DELAY);
}

static void emit_schedule(IRSB *out, Addr pc, const struct pc_operand_bytes *access, Bool stores,
                          Bool before) {
    pc_site site = PC_SITE(pc, access->size, stores ? PC_MEMORY_STORE : PC_MEMORY_LOAD, 0);
    ULong points;
    if (!waits_at(pc, stores, before, &points))
        return;
    IRExpr *guard = both(out, pc_access_filter_mapped(out, access->address), access->guard);
    if (pc_board->plan.mode == PC_BOARD_DELAY)
        call(out, "pc_turns_delay", pc_turns_delay, mkIRExprVec_2(word(site), access->address), guard);
    else if (stores)
        call(out, "pc_schedule_after_store", pc_schedule_after_store,
             mkIRExprVec_3(word(site), access->address, word(points)), guard);
    else
        call(out, "pc_schedule_before_load", pc_schedule_before_load,
             mkIRExprVec_3(word(site), access->address, word(points)), guard);
    pc_access_filter_forget();
}

static Bool is_trusted(Addr pc) {
    Bool trusted, system;
    pc_site_name(pc, &trusted, &system);
    return trusted;
}

void pc_race_emit_start(IRSB *out, Addr pc) {
    if (pc_race && pc_order_is_entry(pc))
        pc_order_emit_entry(out, pc);
}

void pc_race_block(Addr pc) {
    if (pc_race)
        pc_block_seen(pc);
}

Bool pc_race_starts(Addr pc) {
    return pc_race && pc_order_is_entry(pc);
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

pc_told pc_race_tells(const IRSB *in, Int index, Addr pc, Bool locked) {
    if (!pc_race)
        return 0;
    struct pc_operand_bytes load = plain_load(in, index), used = pc_used_by(in, index);
    if (load.address == NULL && (used.address == NULL || has_loaded(in, index)))
        return 0;
    Bool swaps = load.address != NULL ? locked : in->stmts[index]->tag == Ist_CAS;
    return is_trusted(pc) ? 0 : PC_TOLD(pc_site_at(pc), load.size + used.size, swaps);
}

Bool pc_race_waits(const IRSB *in, Int index, Addr pc) {
    ULong points;
    return pc_race && (plain_load(in, index).address != NULL || pc_used_by(in, index).address != NULL) &&
           waits_at(pc, False, True, &points);
}

static void emit_loaded(const IRSB *in, Int index, IRSB *out, Addr pc, Bool locked,
                        const struct pc_operand_bytes *load) {
    pc_told told = load->address != NULL ? pc_race_tells(in, index, pc, locked) : 0;
    if (told != 0)
        call(out, "pc_load_seen", pc_load_seen, mkIRExprVec_2(word(told), load->address),
             both(out, pc_access_filter_mapped(out, load->address), load->guard));
}

void pc_race_emit_before(const IRSB *in, Int index, IRSB *out, Addr pc) {
    if (!pc_race)
        return;
    struct pc_operand_bytes load = plain_load(in, index), early = pc_used_by(in, index),
                            store = pc_stored_by(in, index);
    /* Between a load and its swap nobody may wait: the swap would fail, and all begin anew. */
    Bool begun = early.address != NULL && has_loaded(in, index);
    if (load.address != NULL || (early.address != NULL && !begun))
        emit_schedule(out, pc, load.address != NULL ? &load : &early, False, True);
    else if (store.address != NULL && !begun)
        emit_schedule(out, pc, &store, True, True);
}

void pc_race_emit_uses(const IRSB *in, Int index, IRSB *out, Addr pc) {
    struct pc_operand_bytes used = pc_used_by(in, index);
    emit_loaded(in, index, out, pc, False, &used);
}

void pc_race_emit_loaded(const IRSB *in, Int index, IRSB *out, Addr pc, Bool locked) {
    struct pc_operand_bytes load = plain_load(in, index);
    emit_loaded(in, index, out, pc, locked, &load);
}

void pc_race_emit_after(const IRSB *in, Int index, IRSB *out, Addr pc) {
    if (!pc_race)
        return;
    struct pc_operand_bytes store = pc_stored_by(in, index);
    if (store.address != NULL)
        emit_schedule(out, pc, &store, True, False);
}
