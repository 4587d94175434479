/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: shades of what a statement reads. After: code that unites them, which calls a helper only if more
 * than one set is there: a & b is not 0 for two sets that are not empty, and a | b is right for all others.
 */
#include "shades.h"

#include "emit.h"

UInt pc_lanes_of(IRType type) {
    switch (type) {
    case Ity_V256:
        return 4;
    case Ity_V128:
    case Ity_I128:
    case Ity_F128:
    case Ity_D128:
        return 2;
    default:
        return 1;
    }
}

struct pc_lane pc_lane_with(IRExpr *set) {
    return (struct pc_lane){{set, NULL}};
}

Bool pc_lane_is_empty(const struct pc_lane *lane) {
    return lane->atoms[0] == NULL;
}

IRExpr *pc_packed(struct pc_taint_pass *pass, IRExpr *low, IRExpr *high) {
    if (high == NULL)
        return low != NULL ? low : word(0);
    IRExpr *shifted = binary(pass->out, Iop_Shl64, high, IRExpr_Const(IRConst_U8(32)));
    return low == NULL ? shifted : binary(pass->out, Iop_Or64, low, shifted);
}

IRExpr *pc_either(struct pc_taint_pass *pass, IRExpr *sum, IRExpr *set) {
    return sum == NULL ? set : set == NULL ? sum : binary(pass->out, Iop_Or64, sum, set);
}

static IRExpr *holds(struct pc_taint_pass *pass, IRExpr *look, IRExpr *condition) {
    return both(pass->out, look == NULL ? NULL : unary(pass->out, Iop_CmpNEZ64, look), condition);
}

IRExpr *pc_answer(struct pc_taint_pass *pass, const HChar *name, void *helper, IRExpr **arguments,
                  IRExpr *look, IRExpr *condition) {
    IRTemp answer = newIRTemp(pass->out->tyenv, Ity_I64);
    IRDirty *dirty = unsafeIRDirty_1_N(answer, 0, name, VG_(fnptr_to_fnentry)(helper), arguments);
    Bool always = look == NULL && condition == NULL;
    if (!always)
        dirty->guard = holds(pass, look, condition);
    addStmtToIRSB(pass->out, IRStmt_Dirty(dirty));
    if (always)
        return IRExpr_RdTmp(answer);
    /* Asked again: a condition that is used once stays in the processor's flags. */
    return keep(pass->out, IRExpr_ITE(holds(pass, look, condition), IRExpr_RdTmp(answer), word(0)));
}

pc_labels pc_unpacked(ULong packed) {
    return pc_labels_union((pc_labels)packed, (pc_labels)(packed >> 32));
}

static ULong unite_two(ULong a, ULong b) {
    return pc_labels_union((pc_labels)a, (pc_labels)b);
}

/* Each word is two sets. */
static ULong unite_packed(ULong a, ULong b, ULong c, ULong d) {
    ULong packed[] = {a, b, c, d};
    pc_labels all = 0;
    for (UInt i = 0; i < 4; i++)
        all = pc_labels_union(all, pc_unpacked(packed[i]));
    return all;
}

static IRExpr *union_of_two(struct pc_taint_pass *pass, const struct pc_lane *lane) {
    IRExpr *a = lane->atoms[0], *b = lane->atoms[1];
    for (UInt i = 0; i < PC_UNITED; i++) {
        const struct pc_lane *of = &pass->united[i].of;
        if (!pc_lane_is_empty(of) && eqIRAtom(of->atoms[0], a) && eqIRAtom(of->atoms[1], b))
            return pass->united[i].set;
    }
    IRExpr *several = binary(pass->out, Iop_And64, a, b);
    IRTemp answer = newIRTemp(pass->out->tyenv, Ity_I64);
    IRDirty *dirty =
        unsafeIRDirty_1_N(answer, 0, "unite_two", VG_(fnptr_to_fnentry)(unite_two), mkIRExprVec_2(a, b));
    dirty->guard = holds(pass, several, NULL);
    addStmtToIRSB(pass->out, IRStmt_Dirty(dirty));
    IRExpr *other = binary(pass->out, Iop_Or64, a, b);
    IRExpr *set = keep(pass->out, IRExpr_ITE(holds(pass, several, NULL), IRExpr_RdTmp(answer), other));
    pass->united[pass->united_next].of = *lane;
    pass->united[pass->united_next].set = set;
    pass->united_next = (pass->united_next + 1) % PC_UNITED;
    return set;
}

IRExpr *pc_lane_set(struct pc_taint_pass *pass, const struct pc_lane *lane) {
    if (pc_lane_is_empty(lane))
        return word(0);
    return lane->atoms[1] == NULL ? lane->atoms[0] : union_of_two(pass, lane);
}

IRExpr *pc_lane_pair(struct pc_taint_pass *pass, const struct pc_lane *low, const struct pc_lane *high) {
    IRExpr *sets[2] = {NULL, NULL};
    if (!pc_lane_is_empty(low))
        sets[0] = pc_lane_set(pass, low);
    if (!pc_lane_is_empty(high))
        sets[1] = pc_lane_set(pass, high);
    return pc_packed(pass, sets[0], sets[1]);
}

/* More than two atoms become one. */
static IRExpr *union_of_many(struct pc_atoms *atoms) {
    IRExpr *packed[PC_MOST_ATOMS / 2], *any = NULL;
    for (UInt i = 0; i < PC_MOST_ATOMS; i += 2) {
        IRExpr *low = i < atoms->count ? atoms->list[i] : NULL;
        IRExpr *high = i + 1 < atoms->count ? atoms->list[i + 1] : NULL;
        packed[i / 2] = pc_packed(atoms->pass, low, high);
        any = pc_either(atoms->pass, pc_either(atoms->pass, any, low), high);
    }
    return pc_answer(atoms->pass, "unite_packed", unite_packed,
                     mkIRExprVec_4(packed[0], packed[1], packed[2], packed[3]), any, NULL);
}

static void add_atom(struct pc_atoms *atoms, IRExpr *atom) {
    for (UInt i = 0; i < atoms->count; i++)
        if (eqIRAtom(atoms->list[i], atom))
            return;
    if (atoms->count == PC_MOST_ATOMS) {
        atoms->list[0] = union_of_many(atoms);
        atoms->count = 1;
    }
    atoms->list[atoms->count++] = atom;
}

void pc_atoms_add(struct pc_atoms *atoms, const struct pc_lane *lane) {
    for (UInt i = 0; i < 2 && lane->atoms[i] != NULL; i++)
        add_atom(atoms, lane->atoms[i]);
}

void pc_atoms_add_all(struct pc_atoms *atoms, const struct pc_shade *shade) {
    for (UInt i = 0; i < shade->lanes; i++)
        pc_atoms_add(atoms, &shade->lane[i]);
}

struct pc_lane pc_atoms_lane(struct pc_atoms *atoms) {
    if (atoms->count > 2)
        return pc_lane_with(union_of_many(atoms));
    return (struct pc_lane){
        {atoms->count > 0 ? atoms->list[0] : NULL, atoms->count > 1 ? atoms->list[1] : NULL}};
}

struct pc_lane pc_lane_union(struct pc_taint_pass *pass, const struct pc_lane *a, const struct pc_lane *b) {
    struct pc_atoms atoms = {.pass = pass};
    pc_atoms_add(&atoms, a);
    pc_atoms_add(&atoms, b);
    return pc_atoms_lane(&atoms);
}
