/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the shades of operands. After: that of the result, if each of its lanes depends on some lanes only.
 * Named are those that copies are made of, and those that compilers use for most arithmetic. For all others
 * the caller mixes everything: more labels than there are, never fewer.
 */
#include "lanes.h"

#include "flow.h"

static struct pc_shade one(const struct pc_lane *lane) {
    return (struct pc_shade){.lanes = 1, .lane = {*lane}};
}

static struct pc_shade two(const struct pc_lane *low, const struct pc_lane *high) {
    return (struct pc_shade){.lanes = 2, .lane = {*low, *high}};
}

Bool pc_lanes_unary(IROp op, const struct pc_shade *operand, struct pc_shade *result) {
    static const struct pc_lane none;
    const struct pc_lane *lane = operand->lane;
    switch (op) {
    case Iop_V128to64:
    case Iop_V128to32:
    case Iop_128to64:
    case Iop_V256to64_0:
        *result = one(&lane[0]);
        return True;
    case Iop_V128HIto64:
    case Iop_128HIto64:
    case Iop_V256to64_1:
        *result = one(&lane[1]);
        return True;
    case Iop_V256to64_2:
        *result = one(&lane[2]);
        return True;
    case Iop_V256to64_3:
        *result = one(&lane[3]);
        return True;
    case Iop_V256toV128_0:
        *result = two(&lane[0], &lane[1]);
        return True;
    case Iop_V256toV128_1:
        *result = two(&lane[2], &lane[3]);
        return True;
    case Iop_64UtoV128:
    case Iop_32UtoV128:
    case Iop_ZeroHI64ofV128:
    case Iop_ZeroHI96ofV128:
    case Iop_ZeroHI112ofV128:
    case Iop_ZeroHI120ofV128:
        *result = two(&lane[0], &none);
        return True;
    case Iop_NotV128:
    case Iop_NotV256:
    case Iop_Sqrt64F0x2:
    case Iop_Sqrt32F0x4:
    case Iop_Abs64Fx2:
    case Iop_Neg64Fx2:
        *result = *operand;
        return True;
    default:
        return False;
    }
}

/* Each lane of the result depends on the same lane of both. Of 32 bytes, all are mixed: four unions at once
 * cost too much in string functions, which are what uses them. */
static Bool is_lane_by_lane(IROp op) {
    switch (op) {
    case Iop_AndV128:
    case Iop_OrV128:
    case Iop_XorV128:
    case Iop_Add8x16:
    case Iop_Add16x8:
    case Iop_Add32x4:
    case Iop_Add64x2:
    case Iop_Sub8x16:
    case Iop_Sub16x8:
    case Iop_Sub32x4:
    case Iop_Sub64x2:
    case Iop_CmpEQ8x16:
    case Iop_CmpEQ16x8:
    case Iop_CmpEQ32x4:
    case Iop_CmpEQ64x2:
    case Iop_CmpGT8Sx16:
    case Iop_CmpGT16Sx8:
    case Iop_CmpGT32Sx4:
    case Iop_Min8Ux16:
    case Iop_Max8Ux16:
        return True;
    default:
        return False;
    }
}

/* The lowest lane of the result depends on those of both, the other one is that of the first. */
static Bool is_of_lowest_lane(IROp op) {
    switch (op) {
    case Iop_Add64F0x2:
    case Iop_Sub64F0x2:
    case Iop_Mul64F0x2:
    case Iop_Div64F0x2:
    case Iop_Max64F0x2:
    case Iop_Min64F0x2:
    case Iop_Add32F0x4:
    case Iop_Sub32F0x4:
    case Iop_Mul32F0x4:
    case Iop_Div32F0x4:
    case Iop_Max32F0x4:
    case Iop_Min32F0x4:
    case Iop_SetV128lo32:
        return True;
    default:
        return False;
    }
}

static struct pc_shade united(struct pc_taint_pass *pass, const struct pc_shade *a, const struct pc_shade *b,
                              UInt lanes) {
    struct pc_shade result = *a;
    for (UInt i = 0; i < lanes; i++)
        result.lane[i] = pc_lane_union(pass, &a->lane[i], &b->lane[i]);
    return result;
}

Bool pc_lanes_binary(struct pc_taint_pass *pass, IROp op, const struct pc_shade *a, const struct pc_shade *b,
                     struct pc_shade *result) {
    if (is_lane_by_lane(op) || is_of_lowest_lane(op)) {
        *result = united(pass, a, b, is_lane_by_lane(op) ? a->lanes : 1);
        return True;
    }
    switch (op) {
    case Iop_64HLto128:
    case Iop_64HLtoV128:
    case Iop_InterleaveLO64x2:
        *result = two(&b->lane[0], &a->lane[0]);
        return True;
    case Iop_InterleaveHI64x2:
        *result = two(&b->lane[1], &a->lane[1]);
        return True;
    case Iop_SetV128lo64:
        *result = two(&b->lane[0], &a->lane[1]);
        return True;
    case Iop_V128HLtoV256:
        *result = (struct pc_shade){.lanes = 4, .lane = {b->lane[0], b->lane[1], a->lane[0], a->lane[1]}};
        return True;
    default:
        return False;
    }
}

struct pc_shade pc_lanes_gathered(const struct pc_taint_pass *pass, IRExpr *const *operands) {
    struct pc_shade result = {.lanes = 4};
    for (UInt i = 0; i < 4; i++)
        result.lane[3 - i] = pc_flow_atom(pass, operands[i]).lane[0];
    return result;
}
