/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: an expression of flat code. After: its shade. What an operation gives has the labels of all its
 * operands in all its lanes, but for those that move lanes or work on each alone (lanes.h).
 */
#include "flow.h"

#include "emit.h"
#include "lanes.h"
#include "registers.h"

struct pc_shade pc_flow_atom(const struct pc_taint_pass *pass, const IRExpr *atom) {
    if (atom->tag == Iex_RdTmp)
        return pass->shades[atom->Iex.RdTmp.tmp];
    Bool constant = atom->tag == Iex_Const;
    return (struct pc_shade){.lanes = constant ? pc_lanes_of(typeOfIRExpr(pass->in->tyenv, atom)) : 1};
}

struct pc_lane pc_flow_all(struct pc_taint_pass *pass, IRExpr *const *operands, UInt count) {
    struct pc_atoms atoms = {.pass = pass};
    for (UInt i = 0; i < count; i++) {
        struct pc_shade shade = pc_flow_atom(pass, operands[i]);
        pc_atoms_add_all(&atoms, &shade);
    }
    return pc_atoms_lane(&atoms);
}

static struct pc_shade mixed(struct pc_taint_pass *pass, IRType type, IRExpr *const *operands, UInt count) {
    struct pc_shade shade = {.lanes = pc_lanes_of(type)};
    struct pc_lane all = pc_flow_all(pass, operands, count);
    if (shade.lanes > 1 && all.atoms[1] != NULL)
        all = pc_lane_with(pc_lane_set(pass, &all)); /* once for all lanes */
    for (UInt i = 0; i < shade.lanes; i++)
        shade.lane[i] = all;
    return shade;
}

static struct pc_shade operation(struct pc_taint_pass *pass, IROp op, IRType type, IRExpr *const *operands,
                                 UInt count) {
    struct pc_shade shades[2], result;
    for (UInt i = 0; i < 2 && i < count; i++)
        shades[i] = pc_flow_atom(pass, operands[i]);
    if (op == Iop_64to8 && shades[0].shadow != NULL)
        return (struct pc_shade){.lanes = 1, .lane = {pc_registers_part(pass, shades[0].shadow)}};
    if (count == 1 && pc_lanes_unary(op, &shades[0], &result))
        return result;
    if (count == 2 && pc_lanes_binary(pass, op, &shades[0], &shades[1], &result))
        return result;
    return mixed(pass, type, operands, count);
}

static struct pc_shade helper_call(struct pc_taint_pass *pass, const IRExpr *expression) {
    UInt count = 0;
    while (expression->Iex.CCall.args[count] != NULL)
        count++;
    return mixed(pass, expression->Iex.CCall.retty, expression->Iex.CCall.args, count);
}

static struct pc_lane chosen_lane(struct pc_taint_pass *pass, const IRExpr *condition,
                                  const struct pc_lane *yes, const struct pc_lane *no) {
    if (pc_lane_is_empty(yes) && pc_lane_is_empty(no))
        return *yes;
    return pc_lane_with(keep(
        pass->out, IRExpr_ITE(deepCopyIRExpr(condition), pc_lane_set(pass, yes), pc_lane_set(pass, no))));
}

struct pc_shade pc_flow_chosen(struct pc_taint_pass *pass, const IRExpr *condition,
                               const struct pc_shade *yes, const struct pc_shade *no) {
    struct pc_shade result = {.lanes = yes->lanes}, chooser = pc_flow_atom(pass, condition);
    for (UInt i = 0; i < result.lanes; i++) {
        struct pc_lane lane = chosen_lane(pass, condition, &yes->lane[i], &no->lane[i]);
        result.lane[i] = pc_lane_union(pass, &lane, &chooser.lane[0]);
    }
    return result;
}

static struct pc_shade choice(struct pc_taint_pass *pass, const IRExpr *expression) {
    struct pc_shade yes = pc_flow_atom(pass, expression->Iex.ITE.iftrue);
    struct pc_shade no = pc_flow_atom(pass, expression->Iex.ITE.iffalse);
    return pc_flow_chosen(pass, expression->Iex.ITE.cond, &yes, &no);
}

struct pc_shade pc_flow(struct pc_taint_pass *pass, const IRExpr *expression) {
    IRType type = typeOfIRExpr(pass->in->tyenv, expression);
    switch (expression->tag) {
    case Iex_Get:
        return pc_registers_get(pass, expression->Iex.Get.offset, type);
    case Iex_GetI:
        return pc_registers_get_indexed(pass, expression);
    case Iex_Unop:
        return operation(pass, expression->Iex.Unop.op, type, &expression->Iex.Unop.arg, 1);
    case Iex_Binop: {
        IRExpr *operands[] = {expression->Iex.Binop.arg1, expression->Iex.Binop.arg2};
        return operation(pass, expression->Iex.Binop.op, type, operands, 2);
    }
    case Iex_Triop: {
        const IRTriop *all = expression->Iex.Triop.details;
        IRExpr *operands[] = {all->arg1, all->arg2, all->arg3};
        return operation(pass, all->op, type, operands, 3);
    }
    case Iex_Qop: {
        const IRQop *all = expression->Iex.Qop.details;
        IRExpr *operands[] = {all->arg1, all->arg2, all->arg3, all->arg4};
        if (all->op == Iop_64x4toV256)
            return pc_lanes_gathered(pass, operands);
        return operation(pass, all->op, type, operands, 4);
    }
    case Iex_CCall:
        return helper_call(pass, expression);
    case Iex_ITE:
        return choice(pass, expression);
    default:
        return pc_flow_atom(pass, expression);
    }
}
