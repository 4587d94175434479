/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a block. After: the same, with nothing but questions to a filter, and a way out where one says yes.
 *
 * Calls cost, even those that are not made: arguments are computed, and registers are kept free of what must
 * outlive them. And behind a way out that was not taken, the answer is known for all accesses nearby.
 *
 * To be left in the middle, a block must have all registers up to date at its accesses (race/entries.c), and
 * an instruction must have done nothing before its access that it would do again. What moves the stack
 * pointer and then stores there (push, call) is undone.
 */
#include "fast_path.h"

#include "access_filter.h"
#include "emit.h"
#include "race/race.h"
#include "statements.h"
#include "taint/taint.h"
#include "versions.h"

#define AT(field) ((Int)offsetof(VexGuestAMD64State, guest_##field))
#define PUSHED    8u /* bytes */

/* The load of a statement, if anyone wants to know of it. */
static struct pc_operand_bytes load_of(const IRSB *in, Int index, Addr pc) {
    Bool wanted = pc_taint_wanted || pc_race_tells(in, index, pc, False) != 0 || pc_race_waits(in, index, pc);
    return wanted ? pc_loaded_by(in, index) : (struct pc_operand_bytes){0};
}

static Bool pushes(const IRSB *in, Int put, Int store) {
    struct pc_operand_bytes stored = pc_stored_by(in, store);
    for (Int i = put; in->stmts[i]->tag != Ist_IMark; i--)
        if (pc_loaded_by(in, i).address != NULL)
            return False; /* pop can look the same */
    return stored.size == PUSHED && in->stmts[put]->Ist.Put.offset == AT(RSP) &&
           eqIRAtom(stored.address, in->stmts[put]->Ist.Put.data);
}

/* What the instruction at hand has done before a statement. */
enum done { NOTHING, PUSH, MORE };

static enum done done_before(const IRSB *in, Int index, Addr pc) {
    enum done done = NOTHING;
    for (Int i = index - 1; i >= 0 && in->stmts[i]->tag != Ist_IMark; i--) {
        if (!pc_statement_acts(in, i, pc))
            continue;
        if (done != NOTHING || in->stmts[i]->tag != Ist_Put || !pushes(in, i, index))
            return MORE;
        done = PUSH;
    }
    return done;
}

/* Whether it is neither a fence nor a swap, and calls no helper. */
static Bool is_simple(const IRStmt *statement) {
    return statement->tag != Ist_CAS && statement->tag != Ist_LLSC && statement->tag != Ist_Dirty &&
           statement->tag != Ist_MBE;
}

Bool pc_fast_path_can_be(const IRSB *in) {
    Bool first = True;
    Addr pc = 0;
    for (Int i = 0; i < in->stmts_used; i++) {
        if (in->stmts[i]->tag == Ist_IMark) {
            pc = in->stmts[i]->Ist.IMark.addr;
            if (first && pc_race_starts(pc))
                return False;
            first = False;
        } else if (!first) {
            Bool loads = load_of(in, i, pc).address != NULL, stores = pc_stored_by(in, i).address != NULL;
            enum done done = loads || stores ? done_before(in, i, pc) : NOTHING;
            if (!is_simple(in->stmts[i]) || done == MORE || (done == PUSH && !stores))
                return False;
        }
    }
    return True;
}

static void put_stack_pointer(IRSB *out, IRExpr *value) {
    addStmtToIRSB(out, IRStmt_Put(AT(RSP), value));
}

void pc_fast_path_before(const IRSB *in, Int index, IRSB *out, Addr pc) {
    struct pc_operand_bytes load = load_of(in, index, pc), store = pc_stored_by(in, index);
    IRExpr *address = load.address != NULL ? load.address : store.address;
    IRExpr *touches = address != NULL ? pc_access_filter_once(out, address, pc_taint_wanted) : NULL;
    if (touches == NULL)
        return;
    Bool pushed = done_before(in, index, pc) == PUSH;
    if (pushed)
        put_stack_pointer(out, binary(out, Iop_Add64, address, word(PUSHED)));
    addStmtToIRSB(out, IRStmt_Exit(touches, Ijk_Boring, IRConst_U64(pc | PC_INSTRUMENTED), AT(RIP)));
    if (pushed)
        put_stack_pointer(out, address);
}
