/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a block, and no register has a label. After: what it loads has none either, and what it stores to
 * has none any more; or it was left before the load, and the version that follows labels goes on there.
 *
 * To be left in the middle, a block must have all registers up to date at its loads (race/entries.c), and an
 * instruction must have done nothing before its load that it would do again.
 */
#include "untainted.h"

#include "access_filter.h"
#include "emit.h"
#include "race/race.h"
#include "statements.h"
#include "taint/access.h"
#include "taint/memory.h"
#include "versions.h"

static struct pc_operand_bytes load_of(const IRSB *in, Int index) {
    struct pc_operand_bytes load = pc_loaded_by(in, index);
    return load.address != NULL ? load : pc_used_by(in, index);
}

/* Whether a swap finds what the instruction at hand has loaded before. */
static Bool is_loaded(const IRSB *in, Int index) {
    Bool found = False;
    if (in->stmts[index]->tag != Ist_CAS)
        return False;
    for (Int i = index - 1; !found && i >= 0 && in->stmts[i]->tag != Ist_IMark; i--) {
        const IRExpr *loaded = pc_loaded_by(in, i).address;
        found = loaded != NULL && eqIRAtom(loaded, in->stmts[index]->Ist.CAS.details->addr);
    }
    return found;
}

Bool pc_untainted_can_be(const IRSB *in) {
    Bool first = True, acted = False;
    Addr pc = 0;
    for (Int i = 0; i < in->stmts_used; i++) {
        const IRStmt *statement = in->stmts[i];
        struct pc_operand_bytes load = load_of(in, i);
        if (statement->tag == Ist_IMark) {
            pc = statement->Ist.IMark.addr;
            acted = first && pc_race_starts(pc);
            first = False;
        } else if (pc != 0) {
            if (load.address != NULL && pc_race_waits(in, i, pc))
                return False;
            if (load.address != NULL && acted && !is_loaded(in, i))
                return False;
            acted |= pc_statement_acts(in, i, pc) || pc_race_tells(in, i, pc, False) != 0;
        }
    }
    return True;
}

/* Whether a mode gives labels to what is loaded. */
static Bool is_source(pc_told told, Addr address) {
    if (pc_taint_loads == NULL)
        return pc_access_source(address, PC_TOLD_SIZE(told)) != 0;
    return PC_TOLD_SITE(told) != NULL && pc_taint_loads(told, address);
}

static void on_load(pc_told told, Addr address) {
    if (pc_labelled_now(address, PC_TOLD_SIZE(told)) != 0 || is_source(told, address))
        pc_follow();
}

static void on_store(pc_site site, Addr address) {
    pc_on_store(site, address);
    pc_labelled_write(address, PC_SITE_SIZE(site), 0);
}

/* Whether a helper must look at an access. */
static IRExpr *looks(struct pc_taint_pass *pass, IRExpr *address, UInt size, IRExpr *condition) {
    if (size > PC_LABELLED_REACH)
        return condition;
    return both(pass->out, pc_access_filter_labelled(pass->out, address), condition);
}

void pc_untainted_before(struct pc_taint_pass *pass, Int index, Addr pc, Bool locked) {
    struct pc_operand_bytes load = load_of(pass->in, index);
    if (load.address == NULL || is_loaded(pass->in, index))
        return;
    pc_told told = pc_race_tells(pass->in, index, pc, locked);
    if (told == 0)
        told = PC_TOLD(NULL, load.size, False);
    call(pass->out, "on_load", on_load, mkIRExprVec_2(word(told), load.address),
         looks(pass, load.address, load.size, load.guard));
    pc_versions_leave(pass, pc);
}

void pc_untainted_stored(struct pc_taint_pass *pass, pc_site site, IRExpr *address, IRExpr *condition) {
    call(pass->out, "on_store", on_store, mkIRExprVec_2(word(site), address),
         looks(pass, address, PC_SITE_SIZE(site), condition));
}
